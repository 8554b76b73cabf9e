/** Reading a segment over its damage: what is whole is found again after what is not. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type FoundFrame, SCHEMA_ID } from "../SegmentFrame.ts"
import { type StoreIoError } from "../StoreError.ts"
import { readAt } from "./durable.ts"
import { scanSegment } from "./segmentScan.ts"

/** Bytes of a segment that are no whole frame: from `byteOffset` to `end`. */
export interface Gap {
  readonly byteOffset: number
  readonly end: number
  readonly reason: string
}

/** Calls `frame` for each whole frame (valid during the call only) and `gap` for what lies between them, in order. */
export const scanOver = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string,
  size: number,
  frame: (bytes: Buffer, found: FoundFrame, byteOffset: number) => void,
  gap: (gap: Gap) => void
): Effect.fn.Return<void, StoreIoError> {
  for (let from = 0; from < size;) {
    const ended = yield* scanSegment(file, path, from, size, (bytes, found, byteOffset) => {
      frame(bytes, found, byteOffset)
      return undefined
    })
    if (ended.damage === undefined) return
    const next = yield* nextFrame(file, path, ended.offset + 1, size)
    gap({ byteOffset: ended.offset, end: next, reason: ended.damage })
    from = next
  }
})

/** Where the next frame seems to start at or after `from`; the end of the segment when there is none. */
const nextFrame = Effect.fnUntraced(function* (file: FileSystem.File, path: string, from: number, size: number) {
  const magic = Buffer.from(`\n{"schema":"${SCHEMA_ID}",`)
  const block = 1 << 20
  for (let at = from; at < size; at += block) {
    const bytes = yield* readAt(file, path, at, Math.min(block + magic.length, size - at))
    const found = bytes.indexOf(magic)
    if (found >= 0) return at + found + 1
  }
  return size
})
