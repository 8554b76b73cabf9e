/**
 * A hash of bytes, 64 bits of it, many times as fast as a cryptographic one. Not for what somebody could want to forge.
 */
import { byteModule } from "./internal/byteModule.ts"

export interface ByteHash {
  /** 32 bits each, unsigned. */
  readonly low: number
  readonly high: number
}

export const of = (bytes: Uint8Array, start = 0, end = bytes.length): ByteHash => {
  const module = byteModule()
  module.hash(bytes, start, end)
  return { low: module.low, high: module.high }
}
