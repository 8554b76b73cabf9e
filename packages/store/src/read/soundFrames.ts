/** Reads all whole frames of a damaged segment. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type FoundFrame, SCHEMA_ID } from "../wire/SegmentFrame.ts"
import { type StoreIoError } from "../StoreError.ts"
import { FileWindow } from "./FileWindow.ts"
import { scanWindow } from "./segmentScan.ts"

/** Bytes `byteOffset` to `end` of a segment, which hold no whole frame. */
export interface Gap {
  readonly byteOffset: number
  readonly end: number
  readonly reason: string
}

/** Calls `frame` for each whole frame (valid only during the call) and `gap` for the bytes between them, in order. */
export const scanOver = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string,
  size: number,
  frame: (bytes: Buffer, found: FoundFrame, byteOffset: number) => void,
  gap: (gap: Gap) => void
): Effect.fn.Return<void, StoreIoError> {
  const window = new FileWindow(file, path, 0, size)
  for (;;) {
    const ended = yield* scanWindow(window, (bytes, found, byteOffset) => {
      frame(bytes, found, byteOffset)
      return undefined
    })
    if (ended.damage === undefined) return
    const isFound = yield* window.skipTo(FRAME_BEGINS)
    // The newline belongs to what is before the frame.
    if (isFound) window.at++
    gap({ byteOffset: ended.offset, end: isFound ? window.offset : size, reason: ended.damage })
    if (!isFound) return
  }
})

/** The newline before a frame and the frame's first bytes. */
const FRAME_BEGINS = Buffer.from(`\n{"schema":"${SCHEMA_ID}",`)
