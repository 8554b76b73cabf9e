/** A 64-bit hash of bytes, much faster than a cryptographic one. Collisions can be forged: compare the bytes as well. */
import { byteModule } from "./internal/byteModule.ts"

export interface ByteHash {
  /** Unsigned 32-bit integer. */
  readonly low: number
  /** Unsigned 32-bit integer. */
  readonly high: number
}

export const of = (bytes: Uint8Array, start = 0, end = bytes.length): ByteHash => {
  const module = byteModule()
  module.hash(bytes, start, end)
  return { low: module.low, high: module.high }
}
