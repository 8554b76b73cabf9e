/** UTF-8 functions of Node's `Buffer` for any `Uint8Array`. */
import { Buffer, isUtf8 as isUtf8Native } from "node:buffer"

const view = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Text of `bytes[start, end)`; invalid sequences become U+FFFD, as in Pi. */
export const decodeUtf8 = (bytes: Uint8Array, start: number, end: number): string =>
  view(bytes).toString("utf8", start, end)

export const encodeUtf8 = (text: string): Uint8Array => Buffer.from(text, "utf8")

export const isUtf8 = (bytes: Uint8Array): boolean => isUtf8Native(bytes)

/** Offset of the next newline at or after `from`, or -1. */
export const indexOfNewline = (bytes: Uint8Array, from: number): number => bytes.indexOf(0x0a, from)

export const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const first = parts[0]
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
