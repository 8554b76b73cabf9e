/** Reads whole lines from a range of an open file. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"

export const NEWLINE = 0x0a

/** The bytes `[offset, offset + length)`, fewer at the end of the file. */
export const readAt = Effect.fnUntraced(function* (file: FileSystem.File, offset: number, length: number) {
  const parts: Array<Uint8Array> = []
  let read = 0
  while (read < length) {
    const part = yield* file.readAlloc(length - read, { position: BigInt(offset + read) })
    if (Option.isNone(part)) break
    parts.push(part.value)
    read += part.value.length
  }
  return Buffer.concat(parts, read)
})

/** Whole lines in `[offset, end)` with their newlines: about `maxBytes`, at least one line. Empty when no line is whole. */
export const readLines = Effect.fnUntraced(function* (
  file: FileSystem.File,
  offset: number,
  end: number,
  maxBytes: number
) {
  const parts: Array<Buffer> = []
  let at = offset
  while (at < end) {
    const part = yield* readAt(file, at, Math.min(Math.max(maxBytes, 1), end - at))
    if (part.length === 0) break
    at += part.length
    const newline = part.lastIndexOf(NEWLINE)
    parts.push(newline < 0 ? part : part.subarray(0, newline + 1))
    if (newline >= 0) return Buffer.concat(parts)
  }
  return Buffer.alloc(0)
})

/** The lines of `bytes` without their newlines. `bytes` ends in a newline. */
export function* split(bytes: Buffer): Generator<Buffer> {
  let start = 0
  while (start < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline < 0 ? bytes.length : newline
    yield bytes.subarray(start, end)
    start = end + 1
  }
}
