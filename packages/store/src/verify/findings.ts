/** How the parts of `verify` report findings. */
import { type InvariantId } from "../StoreError.ts"

/** Reports one finding. The invariant is null for damage that breaks none. */
export type Report = (invariant: InvariantId | null, path: string, byteOffset: number, message: string) => void
