/** The offset index against the segments: which of its rows are good, and those that are missing made again. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as Manifest from "../wire/Manifest.ts"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { AppendLog } from "../files/AppendLog.ts"
import { detached } from "../wire/detached.ts"
import { readInto, sizeOf, withFile } from "../files/durable.ts"
import { type OpenTail } from "./openTail.ts"
import * as Quarantine from "./quarantine.ts"
import { type Repair } from "./repair.ts"
import { scanSegment } from "../read/segmentScan.ts"

const READ_BYTES = 1 << 20

/**
 * Reads the whole index. Rows are kept up to the first that is not as it should be; the rest goes to quarantine, and the
 * missing ones are made from the segments. A row is written after its frame was acknowledged: a sound one without its
 * frame, be it behind damaged ones, says that the segments lost something, and is no reason to cut anything off.
 */
export const readIndex = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  tail: OpenTail,
  repairs: Array<Repair>
): Effect.fn.Return<
  { readonly seqById: Map<string, number>; readonly rowCount: number },
  StoreIoError | StoreDamaged,
  FileSystem.FileSystem
> {
  const seqById = new Map<string, number>()
  const frameCount = tail.head === undefined ? 0 : tail.head.entry_seq + 1
  const firstTailSeq = tail.rows[0]?.entry_seq ?? frameCount
  const sizes = new Map(manifest.segments.map((sealed) => [sealed.segment_seq, sealed.byte_length]))
  let rowCount = 0
  let byteLength = 0
  let damage: string | undefined
  let last: OffsetRow.OffsetRow | undefined

  const accept = (row: OffsetRow.OffsetRow | undefined): string | undefined => {
    if (row === undefined) return "a row is not as it was written"
    if (row.entry_seq !== rowCount) return `the row of entry_seq ${row.entry_seq} stands in place ${rowCount}`
    const ofTail = row.entry_seq < firstTailSeq ? undefined : tail.rows[row.entry_seq - firstTailSeq]
    if (
      ofTail !== undefined
        ? !isSameRow(row, ofTail)
        : row.byte_offset + row.byte_length > (sizes.get(row.segment_seq) ?? 0)
    ) {
      return "a row points to another place than its frame (INV-003)"
    }
    return undefined
  }

  const size = Option.getOrUndefined(yield* sizeOf(layout.offsets))
  if (size !== undefined && size > 0) {
    yield* withFile(layout.offsets, "r", (file) =>
      Effect.gen(function* () {
        let buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size))
        let rest = 0
        for (let base = 0; base < size;) {
          const filled = rest + (yield* readInto(file, layout.offsets, base + rest, buffer.subarray(rest)))
          let at = 0
          for (
            let newline = buffer.indexOf(0x0a);
            newline >= 0 && newline < filled;
            newline = buffer.indexOf(0x0a, at)
          ) {
            const row = OffsetRow.decode(buffer, at, newline)
            if (row !== undefined && row.entry_seq >= frameCount) {
              return yield* new StoreDamaged({
                path: layout.segment(row.segment_seq),
                byteOffset: row.byte_offset,
                reason: `entry ${row.entry_id} was acknowledged and is not whole any more`,
                invariant: "INV-003"
              })
            }
            at = newline + 1
            damage ??= accept(row)
            if (damage !== undefined || row === undefined) continue
            seqById.set(detached(row.entry_id), row.entry_seq)
            last = row
            rowCount++
            byteLength = base + at
          }
          if (base + filled >= size) {
            if (at < filled) damage ??= "the last row breaks off"
            break
          }
          rest = filled - at
          base += at
          const next = at === 0 ? Buffer.allocUnsafe(buffer.length * 2) : buffer
          buffer.copy(next, 0, at, filled)
          buffer = next
        }
      })
    )
  }

  if (damage !== undefined && size !== undefined) {
    repairs.push({
      what: `index: bytes ${byteLength} to ${size} cut off into quarantine: ${damage}`,
      mend: Quarantine.cutOff(layout, layout.offsets, byteLength, size, damage)
    })
  }
  if (rowCount < frameCount) {
    // Before anything is told or changed: where a sealed segment is not whole, opening is refused.
    for (const sealed of manifest.segments) {
      if (sealed.last_entry_seq >= rowCount) yield* rowsOfSealed(layout, sealed, last, rowCount)
    }
    repairs.push({
      what: `index: ${frameCount - rowCount} missing rows made from the segments, from entry_seq ${rowCount} on`,
      mend: extendIndex(layout, manifest, tail, { byteLength, rowCount, last, created: byteLength === 0 }, seqById)
    })
  }
  return { seqById, rowCount }
})

/** Where the good rows of an index end. */
interface GoodRows {
  readonly byteLength: number
  readonly rowCount: number
  readonly last: OffsetRow.OffsetRow | undefined
  /** There is no file yet, or nothing in it. */
  readonly created: boolean
}

/** Adds the rows that are missing, made from the segments. */
const extendIndex = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  tail: OpenTail,
  { byteLength, rowCount, last, created }: GoodRows,
  seqById: Map<string, number>
): Effect.fn.Return<void, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const log = new AppendLog(path, layout.offsets, byteLength, created)
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

/** The rows of a sealed segment from `firstSeq` on; the segment must be whole, and end where the manifest says. */
const rowsOfSealed = Effect.fnUntraced(function* (
  layout: StoreLayout,
  sealed: Manifest.SealedSegment,
  last: OffsetRow.OffsetRow | undefined,
  firstSeq: number
): Effect.fn.Return<ReadonlyArray<OffsetRow.OffsetRow>, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
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
      rows.push(OffsetRow.ofFrame(found.frame, byteOffset, found.end - found.start))
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
