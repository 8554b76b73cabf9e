/** Reading a segment from front to back, a buffer at a time, frame by frame. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type FoundFrame, decode } from "../SegmentFrame.ts"
import { type StoreIoError } from "../StoreError.ts"
import { readInto } from "./durable.ts"

/** Where a scan ended: after the last frame that was accepted, and why not at the end of the file. */
export interface ScanEnd {
  readonly offset: number
  readonly damage: string | undefined
}

const BUFFER_BYTES = 1 << 20

/**
 * Calls `visit` for each frame in bytes `from` to `size` of the file, with the buffer it lies in (valid during the call only) and its offset
 * in the file. A string from `visit` says what is wrong with the frame and ends the scan before it.
 */
export const scanSegment = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string,
  from: number,
  size: number,
  visit: (bytes: Buffer, found: FoundFrame, byteOffset: number) => string | undefined
): Effect.fn.Return<ScanEnd, StoreIoError> {
  let buffer = Buffer.allocUnsafe(Math.min(BUFFER_BYTES, Math.max(size - from, 1)))
  /** Offset in the file of the buffer's first byte, bytes in the buffer, bytes of them used up. */
  let base = from
  let filled = yield* readInto(file, path, base, buffer)
  let at = 0
  for (;;) {
    const decoded = decode(buffer, at, filled)
    if (decoded._tag === "Frame") {
      const refused = visit(buffer, decoded, base + at)
      if (refused !== undefined) return { offset: base + at, damage: refused }
      at = decoded.end
    } else if (decoded._tag === "Damaged") {
      return { offset: base + at, damage: decoded.reason }
    } else if (base + at + decoded.bytesNeeded > size) {
      return { offset: base + at, damage: base + at === size ? undefined : "the file ends within a frame" }
    } else {
      const rest = filled - at
      const next = decoded.bytesNeeded > buffer.length ? Buffer.allocUnsafe(2 * decoded.bytesNeeded) : buffer
      buffer.copy(next, 0, at, filled)
      buffer = next
      base += at
      at = 0
      const wanted = Math.min(buffer.length, size - base)
      const added = yield* readInto(file, path, base + rest, buffer.subarray(rest, wanted))
      if (added === 0) return { offset: base, damage: "the file ends within a frame" }
      filled = rest + added
    }
  }
})
