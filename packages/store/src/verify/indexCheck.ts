/** Compares the offset index with the rows that the frames should have, segment by segment. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { rowsIn } from "../read/IndexFile.ts"
import { byteLengthOf, readAt, withFile } from "../files/durable.ts"
import { type Report } from "./findings.ts"

/** Progress of the comparison. */
export interface IndexCursor {
  readonly path: string
  /** Size of the file at the beginning. Rows appended later belong to later frames. */
  readonly byteLength: number
  /** Bytes that agree with the frames so far. */
  checked: number
  /** Rows that agree with the frames so far. */
  rowCount: number
  /** Set after damage: the next rows cannot be compared with frames. */
  lost: boolean
}

export const open = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<IndexCursor, StoreIoError, FileSystem.FileSystem> {
  return { path: layout.offsets, byteLength: yield* byteLengthOf(layout.offsets), checked: 0, rowCount: 0, lost: false }
})

/** Compares the rows that the frames of a segment should have with those on disk. */
export const compare = Effect.fnUntraced(function* (
  layout: StoreLayout,
  index: IndexCursor,
  expected: Buffer,
  report: Report
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem> {
  if (index.lost || expected.length === 0) return
  const length = Math.min(expected.length, index.byteLength - index.checked)
  const bytes =
    length <= 0
      ? Buffer.alloc(0)
      : yield* withFile(index.path, "r", (file) => readAt(file, index.path, index.checked, length))
  let same = bytes.length
  if (!bytes.equals(expected.subarray(0, bytes.length))) {
    same = 0
    while (bytes[same] === expected[same]) same++
  }
  // lastIndexOf counts a negative position from the end.
  const whole = same === 0 ? 0 : expected.lastIndexOf(0x0a, same - 1) + 1
  for (let at = expected.indexOf(0x0a); at >= 0 && at < whole; at = expected.indexOf(0x0a, at + 1)) index.rowCount++
  const start = index.checked + whole
  index.checked = start
  if (same === expected.length) return
  index.lost = true
  if (same === bytes.length && whole === bytes.length) return
  // A live writer may have been writing the last row.
  if (same === bytes.length && (yield* byteLengthOf(layout.offsets)) !== index.byteLength) return
  const sound = rowsIn(bytes.subarray(whole), start).rows.length > 0
  report(
    "INV-003",
    index.path,
    start,
    sound ? "a row says something else than its frame" : "a row is not as it was written"
  )
})
