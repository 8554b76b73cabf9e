/** Reading a segment over its damage: what is whole is found again after what is not. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type FoundFrame, SCHEMA_ID } from "../wire/SegmentFrame.ts"
import { type StoreIoError } from "../StoreError.ts"
import { FileWindow } from "./FileWindow.ts"
import { scanWindow } from "./segmentScan.ts"

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
  const window = new FileWindow(file, path, 0, size)
  for (;;) {
    const ended = yield* scanWindow(window, (bytes, found, byteOffset) => {
      frame(bytes, found, byteOffset)
      return undefined
    })
    if (ended.damage === undefined) return
    const isFound = yield* window.skipTo(FRAME_BEGINS)
    // The newline before it is not the frame's.
    if (isFound) window.at++
    gap({ byteOffset: ended.offset, end: isFound ? window.offset : size, reason: ended.damage })
    if (!isFound) return
  }
})

/** How a frame looks after what is before it. */
const FRAME_BEGINS = Buffer.from(`\n{"schema":"${SCHEMA_ID}",`)
