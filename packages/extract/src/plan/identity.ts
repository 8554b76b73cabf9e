/** Identities and hashes by which runs recognize unchanged files. */
import { createHash } from "node:crypto"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"

/** Path, size and time of a session: equal when the file did not change. */
export const identity = ({ modifiedMs, path, sizeBytes }: SessionRef): string => `${path}\0${sizeBytes}\0${modifiedMs}`

export const keyOf = (...texts: ReadonlyArray<string>): string => {
  const hash = createHash("sha256")
  for (const text of texts) hash.update(text).update("\0")
  return hash.digest("hex").slice(0, 32)
}
