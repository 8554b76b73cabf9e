/**
 * Reads every line of a damaged container whose frame is whole, in order, from the segments alone. Index, manifest and
 * marker may be missing. Lines may lack their parents; `doctor` repairs that in the file they are written to.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import { type StoreIoError } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import { byteLengthOf, listNumbers, withFile } from "./files/durable.ts"
import { type Gap, scanOver } from "./read/soundFrames.ts"

/** Bytes of a segment that hold no whole frame. */
export interface Lost extends Gap {
  /** Path of the segment. */
  readonly path: string
}

/** The lines of one segment, newline included, and the gaps between them. */
export interface Salvaged {
  readonly lines: ReadonlyArray<Uint8Array>
  readonly lost: ReadonlyArray<Lost>
}

/** Reads one segment at a time. */
export const salvage = (layout: StoreLayout): Stream.Stream<Salvaged, StoreIoError, FileSystem.FileSystem> =>
  Stream.fromIterableEffect(listNumbers(layout.segments, ".seg")).pipe(
    Stream.mapEffect((segmentSeq) => ofSegment(layout.segment(segmentSeq)))
  )

const ofSegment = Effect.fnUntraced(function* (path: string) {
  const size = yield* byteLengthOf(path)
  const lines: Array<Uint8Array> = []
  const lost: Array<Lost> = []
  yield* withFile(path, "r", (file) =>
    scanOver(
      file,
      path,
      size,
      (bytes, found) => void lines.push(Buffer.from(bytes.subarray(found.payloadStart, found.end))),
      (gap) => void lost.push({ ...gap, path })
    )
  )
  return { lines, lost } satisfies Salvaged
})
