/** Recovery of the offset index: keeps its good rows and makes the missing ones from the segments. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as Manifest from "../wire/Manifest.ts"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { AppendLog } from "../files/AppendLog.ts"
import { detached } from "../wire/detached.ts"
import { byteLengthOf, readInto, withFile } from "../files/durable.ts"
import { type OpenTail } from "./openTail.ts"
import * as Quarantine from "./quarantine.ts"
import { type Repair } from "./repair.ts"
import { scanSegment } from "../read/segmentScan.ts"

const READ_BYTES = 1 << 20

/** What a writer needs of the index. */
export interface ReadIndex {
  /** Position of each entry by its id; the header is under the session's id. */
  readonly seqById: Map<string, number>
  /** Number of good rows before the repair. */
  readonly rowCount: number
}

/**
 * Reads the whole index. Rows are kept up to the first bad one; a repair quarantines the rest and adds the missing rows
 * from the segments. Rows are written after their frames were acknowledged, so a sound row without its frame means that
 * the segments lost entries: that is damage, and nothing is cut off.
 */
export const readIndex = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  tail: OpenTail,
  repairs: Array<Repair>
): Effect.fn.Return<ReadIndex, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
  const frameCount = tail.head === undefined ? 0 : tail.head.entry_seq + 1
  const size = yield* byteLengthOf(layout.offsets)
  const good = new GoodRows(layout, manifest, tail, frameCount)
  if (size > 0) yield* withFile(layout.offsets, "r", (file) => readRows(file, layout.offsets, size, good))
  const { byteLength, damage, rowCount, seqById } = good
  if (damage !== undefined) {
    repairs.push({
      description: `index: bytes ${byteLength} to ${size} cut off into quarantine: ${damage}`,
      apply: Quarantine.cutOff(layout, layout.offsets, byteLength, size, damage)
    })
  }
  if (rowCount < frameCount) {
    // Checked before anything is changed: a store with a damaged sealed segment is refused.
    for (const sealed of manifest.segments) {
      if (sealed.last_entry_seq >= rowCount) yield* rowsOfSealed(layout, sealed, good.last, rowCount)
    }
    repairs.push({
      description: `index: ${frameCount - rowCount} missing rows rebuilt from the segments, from entry_seq ${rowCount} on`,
      apply: extendIndex(layout, manifest, tail, good)
    })
  }
  return { seqById, rowCount }
})

/** The rows of an index that are good, up to the first bad one. */
class GoodRows {
  readonly seqById = new Map<string, number>()
  rowCount = 0
  byteLength = 0
  last: OffsetRow.OffsetRow | undefined
  /** What is wrong with the first bad row; undefined while all are good. */
  damage: string | undefined
  readonly #layout: StoreLayout
  readonly #tailRows: ReadonlyArray<OffsetRow.OffsetRow>
  readonly #firstTailSeq: number
  readonly #frameCount: number
  /** Bytes of sealed segments, by number. */
  readonly #sizes: ReadonlyMap<number, number>

  constructor(layout: StoreLayout, manifest: Manifest.Manifest, { rows }: OpenTail, frameCount: number) {
    this.#layout = layout
    this.#tailRows = rows
    this.#firstTailSeq = rows[0]?.entry_seq ?? frameCount
    this.#frameCount = frameCount
    this.#sizes = new Map(manifest.segments.map((sealed) => [sealed.segment_seq, sealed.byte_length]))
  }

  /** Takes the row on the next line, undefined for a bad line; `end` is the line's end in the file. */
  take(row: OffsetRow.OffsetRow | undefined, end: number): StoreDamaged | undefined {
    if (row !== undefined && row.entry_seq >= this.#frameCount) {
      return new StoreDamaged({
        path: this.#layout.segment(row.segment_seq),
        byteOffset: row.byte_offset,
        reason: `entry ${row.entry_id} was acknowledged and is not whole any more`,
        invariant: "INV-003"
      })
    }
    this.damage ??= this.#damageOf(row)
    if (this.damage !== undefined || row === undefined) return undefined
    this.seqById.set(detached(row.entry_id), row.entry_seq)
    this.last = row
    this.rowCount++
    this.byteLength = end
    return undefined
  }

  #damageOf(row: OffsetRow.OffsetRow | undefined): string | undefined {
    if (row === undefined) return "a row is not as it was written"
    if (row.entry_seq !== this.rowCount) return `the row of entry_seq ${row.entry_seq} is in place ${this.rowCount}`
    const ofTail = row.entry_seq < this.#firstTailSeq ? undefined : this.#tailRows[row.entry_seq - this.#firstTailSeq]
    const isPlaced =
      ofTail === undefined
        ? row.byte_offset + row.byte_length <= (this.#sizes.get(row.segment_seq) ?? 0)
        : isSameRow(row, ofTail)
    return isPlaced ? undefined : "a row points to another place than its frame (INV-003)"
  }
}

/** Reads the rows of an index file, a buffer at a time. */
const readRows = Effect.fnUntraced(function* (file: FileSystem.File, path: string, size: number, good: GoodRows) {
  let buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size))
  let rest = 0
  for (let base = 0; ;) {
    const read = yield* readInto(file, path, base + rest, buffer.subarray(rest))
    const filled = rest + read
    let at = 0
    for (let newline = buffer.indexOf(0x0a); newline >= 0 && newline < filled; newline = buffer.indexOf(0x0a, at)) {
      const row = OffsetRow.decode(buffer, at, newline)
      at = newline + 1
      const lost = good.take(row, base + at)
      if (lost !== undefined) return yield* lost
    }
    // Without bytes the file became shorter while it was read.
    if (read === 0 || base + filled >= size) {
      if (at < filled) good.damage ??= "the last row breaks off"
      return
    }
    rest = filled - at
    base += at
    const next = at === 0 ? Buffer.allocUnsafe(buffer.length * 2) : buffer
    buffer.copy(next, 0, at, filled)
    buffer = next
  }
})

/** Adds the missing rows, made from the segments, to the index and to `seqById`. */
const extendIndex = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  tail: OpenTail,
  { byteLength, last, rowCount, seqById }: GoodRows
) {
  const log = new AppendLog(yield* Path.Path, layout.offsets, byteLength, byteLength === 0)
  const put = Effect.fnUntraced(function* (rows: ReadonlyArray<OffsetRow.OffsetRow>) {
    for (const row of rows) seqById.set(detached(row.entry_id), row.entry_seq)
    yield* log.write(Buffer.from(rows.map((row) => OffsetRow.encodeText(row)).join("")))
  })
  const extend = Effect.gen(function* () {
    for (const sealed of manifest.segments) {
      if (sealed.last_entry_seq < rowCount) continue
      yield* put(yield* rowsOfSealed(layout, sealed, last, rowCount))
    }
    yield* put(tail.rows.filter((row) => row.entry_seq >= rowCount))
    yield* log.commit()
  })
  yield* extend.pipe(Effect.tapCause(() => Effect.ignore(log.close)))
  yield* log.close
})

/** The rows of a sealed segment from `firstSeq` on. The segment must be whole and end as the manifest says. */
const rowsOfSealed = Effect.fnUntraced(function* (
  layout: StoreLayout,
  sealed: Manifest.SealedSegment,
  last: OffsetRow.OffsetRow | undefined,
  firstSeq: number
) {
  const path = layout.segment(sealed.segment_seq)
  const from = last?.segment_seq === sealed.segment_seq ? last.byte_offset + last.byte_length : 0
  const rows: Array<OffsetRow.OffsetRow> = []
  const ended = yield* withFile(path, "r", (file) =>
    scanSegment(file, path, from, sealed.byte_length, (_bytes, found, byteOffset) => {
      const { entry_seq, segment_seq } = found.frame
      if (
        segment_seq !== sealed.segment_seq ||
        entry_seq !== Math.max(firstSeq, sealed.first_entry_seq) + rows.length
      ) {
        return "the frames do not follow each other (INV-002)"
      }
      rows.push(OffsetRow.ofFound(found, byteOffset))
      return undefined
    })
  )
  const isWhole = Math.max(firstSeq, sealed.first_entry_seq) + rows.length === sealed.last_entry_seq + 1
  if (ended.damage === undefined && isWhole) return rows
  const reason =
    ended.damage ?? `the segment does not hold entries ${sealed.first_entry_seq} to ${sealed.last_entry_seq}`
  return yield* new StoreDamaged({ path, byteOffset: ended.offset, reason, invariant: "INV-005" })
})

const isSameRow = (a: OffsetRow.OffsetRow, b: OffsetRow.OffsetRow): boolean =>
  a.entry_id === b.entry_id &&
  a.parent_entry_id === b.parent_entry_id &&
  a.entry_type === b.entry_type &&
  a.segment_seq === b.segment_seq &&
  a.frame_seq === b.frame_seq &&
  a.byte_offset === b.byte_offset &&
  a.byte_length === b.byte_length
