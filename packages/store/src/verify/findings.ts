/** How the parts of `verify` tell what they find. */
import { type InvariantId } from "../StoreError.ts"

/** Null for damage that breaks no invariant. */
export type Report = (invariant: InvariantId | null, path: string, byteOffset: number, message: string) => void
