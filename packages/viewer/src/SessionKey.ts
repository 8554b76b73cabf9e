/** Keys of sessions in URLs. */
import { createHash } from "node:crypto"

/** Opaque id of a session for URLs; does not reveal the file path. */
export const keyOf = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, 16)
