/**
 * Opening a container for writing: brings what an interrupted writer left to a state in which the invariants hold, by
 * the ADR's failure semantics. Segments decide; index rows are made again from them; what is cut off is quarantined;
 * what was mended is told in the ledger. Doing it twice changes nothing the second time.
 *
 * Only under the writer's lock.
 */
import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Manifest from "./Manifest.ts"
import * as MigrationLedger from "./MigrationLedger.ts"
import * as OffsetRow from "./OffsetRow.ts"
import { type FoundFrame, chainHash } from "./SegmentFrame.ts"
import { StoreDamaged, StoreFailed, type StoreIoError } from "./StoreError.ts"
import { type StoreLayout, numberOf } from "./StoreLayout.ts"
import { type StoreState } from "./StoreState.ts"
import { type Head } from "./WireField.ts"
import { AppendLog } from "./internal/AppendLog.ts"
import { detached } from "./internal/detached.ts"
import { listNames, makeDirectory, readInto, sizeOf, sync, syncDirectory, withFile } from "./internal/durable.ts"
import { follows, headOf } from "./internal/frameLink.ts"
import { nowInstant, readManifest, stepped, writeManifest } from "./internal/manifestFile.ts"
import * as Quarantine from "./internal/quarantine.ts"
import { scanSegment } from "./internal/segmentScan.ts"

/** A container in which all invariants hold, and what a writer needs to go on. */
export interface Recovered {
  readonly manifest: Manifest.Manifest
  /** The last frame; undefined in an empty store. */
  readonly head: Head | undefined
  /** Position of each entry by its id, the header's under the session's id. */
  readonly seqById: Map<string, number>
  /** Bytes of the index. */
  readonly indexBytes: number
  /** The segment that is not sealed yet; undefined when the next entry starts a new one. */
  readonly openSegment:
    | { readonly segmentSeq: number; readonly byteLength: number; readonly firstEntrySeq: number }
    | undefined
  /** What was mended, in words; empty for a store that was whole. */
  readonly repairs: ReadonlyArray<string>
}

export type RecoveryError = StoreIoError | StoreDamaged | StoreFailed

/** Frames of the segments that are not sealed, with where they lie. */
interface OpenTail {
  readonly head: Head | undefined
  readonly rows: ReadonlyArray<OffsetRow.OffsetRow>
  readonly openSegment: Recovered["openSegment"]
}

export const recover = Effect.fn("StoreRecovery.recover")(function* (
  layout: StoreLayout,
  sessionId: string
): Effect.fn.Return<Recovered, RecoveryError, FileSystem.FileSystem | Path.Path> {
  const repairs: Array<Repair> = []
  for (const directory of [layout.segments, layout.index, layout.checkpoints, layout.migrations, layout.tmp]) {
    if (Option.isNone(yield* sizeOf(directory))) yield* makeDirectory(directory)
  }
  yield* cutLedger(layout)
  const found = yield* readManifest(layout).pipe(
    Effect.catchTag("StoreDamaged", (error) => rebuildManifest(layout, sessionId, error, repairs))
  )
  if (found.state === "FAILED") {
    return yield* new StoreFailed({ path: layout.container, reason: "an earlier step could not be finished or undone" })
  }
  yield* checkSealed(layout, found)
  const tail = yield* readTail(layout, found, repairs)
  const index = yield* readIndex(layout, found, tail, repairs)
  yield* makeDurable(layout, found, tail)
  // Told before it is done: a crash in between repeats the repair, and none goes untold.
  if (repairs.length > 0) yield* record(layout, found, tail.head, repairs)
  yield* Effect.forEach(repairs, (repair) => repair.mend, { discard: true })
  const indexBytes = Option.getOrElse(yield* sizeOf(layout.offsets), () => 0)
  const manifest = yield* settle(layout, found, tail, indexBytes)
  return {
    manifest,
    head: tail.head,
    seqById: index.seqById,
    indexBytes,
    openSegment: tail.openSegment,
    repairs: repairs.map((repair) => repair.what)
  }
})

/** Something to be mended: what is told of it, and how. */
interface Repair {
  readonly what: string
  readonly mend: Effect.Effect<void, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path>
}

/** Frames of the segments that are not sealed, with where they lie. */
interface OpenTail {
  readonly head: Head | undefined
  readonly rows: ReadonlyArray<OffsetRow.OffsetRow>
  readonly openSegment: Recovered["openSegment"]
}

/**
 * An earlier process may have died between a write and its fsync. What was read here is built on from now on, so it must
 * survive a power loss too.
 */
const makeDurable = Effect.fnUntraced(function* (layout: StoreLayout, manifest: Manifest.Manifest, tail: OpenTail) {
  yield* syncDirectory(layout.container)
  // Of the index, what the manifest counts was synced before it was counted.
  if (Option.getOrElse(yield* sizeOf(layout.offsets), () => 0) > manifest.index.byte_length) {
    yield* withFile(layout.offsets, "r+", (file) => sync(file, layout.offsets))
    yield* syncDirectory(layout.index)
  }
  if (tail.openSegment === undefined) return
  const path = layout.segment(tail.openSegment.segmentSeq)
  yield* withFile(path, "r+", (file) => sync(file, path))
  yield* syncDirectory(layout.segments)
})

/** States that promise that every frame is in a sealed segment. */
const SETTLED: ReadonlySet<StoreState> = new Set([
  "SEGMENT_SEALED",
  "INDEXED",
  "CHECKPOINTED",
  "MIGRATED",
  "ROLLED_BACK"
])

/** Finishes the step that was interrupted: a sealed segment whose rows are complete now is indexed. */
const settle = Effect.fnUntraced(function* (
  layout: StoreLayout,
  found: Manifest.Manifest,
  tail: OpenTail,
  indexBytes: number
): Effect.fn.Return<Manifest.Manifest, StoreIoError, FileSystem.FileSystem | Path.Path> {
  let manifest = found
  if (manifest.state === "SEGMENT_SEALED") {
    const index = { byte_length: indexBytes, row_count: tail.head === undefined ? 0 : tail.head.entry_seq + 1 }
    manifest = yield* stepped(manifest, "INDEXED", { index }).pipe(Effect.orDie)
  }
  // Frames behind the sealed ones say that somebody went on from an older manifest.
  if (tail.rows.length > 0 && SETTLED.has(manifest.state)) {
    manifest = yield* stepped(manifest, "DIRTY").pipe(Effect.orDie)
  }
  if (manifest !== found) yield* writeManifest(layout, manifest)
  return manifest
})

/** Sealed segments never change: another size is damage that cannot be mended from here. */
const checkSealed = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest
): Effect.fn.Return<void, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
  for (const sealed of manifest.segments) {
    const path = layout.segment(sealed.segment_seq)
    const size = Option.getOrUndefined(yield* sizeOf(path))
    if (size === sealed.byte_length) continue
    const reason =
      size === undefined
        ? "a sealed segment is missing"
        : `a sealed segment has ${size} bytes in place of ${sealed.byte_length}`
    return yield* new StoreDamaged({
      path,
      byteOffset: Math.min(size ?? 0, sealed.byte_length),
      reason,
      invariant: "INV-005"
    })
  }
})

/** Reads the segments after the sealed ones; what is torn there was never acknowledged and goes to quarantine. */
const readTail = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  repairs: Array<Repair>
): Effect.fn.Return<OpenTail, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const sealed = manifest.segments.at(-1)
  let head: Head | undefined
  if (sealed !== undefined) {
    const entryId = manifest.head?.entry_seq === sealed.last_entry_seq ? manifest.head.entry_id : undefined
    head = {
      segment_seq: sealed.segment_seq,
      frame_seq: sealed.frame_count,
      entry_seq: sealed.last_entry_seq,
      entry_id: entryId ?? (yield* lastEntryId(layout, sealed)),
      chain_hash: sealed.chain_hash
    }
  }
  const rows: Array<OffsetRow.OffsetRow> = []
  let openSegment: Recovered["openSegment"]
  let broken = false
  const names = yield* listNames(layout.segments)
  for (const segmentSeq of names.flatMap((name) => numberOf(name, ".seg") ?? [])) {
    if (segmentSeq <= (sealed?.segment_seq ?? 0)) continue
    const path = layout.segment(segmentSeq)
    const size = Option.getOrElse(yield* sizeOf(path), () => 0)
    const inOrder = segmentSeq === (openSegment?.segmentSeq ?? sealed?.segment_seq ?? 0) + 1
    const before = rows.length
    const ended =
      broken || !inOrder
        ? { offset: 0, damage: "it follows a segment that is missing or torn" }
        : yield* withFile(path, "r", (file) =>
            scanSegment(file, path, 0, size, (bytes, frame, byteOffset) => {
              const wrong = follows(head, segmentSeq, frame.frame)
              if (wrong !== undefined) return wrong
              head = headOf(frame.frame, chainHash(bytes.subarray(frame.start, frame.end)))
              rows.push(rowOf(frame, byteOffset))
              return undefined
            })
          )
    if (ended.damage !== undefined) {
      broken = true
      if (size > ended.offset) {
        repairs.push({
          what: `segment ${segmentSeq}: bytes ${ended.offset} to ${size} cut off into quarantine: ${ended.damage}`,
          mend: Quarantine.cutOff(layout, path, ended.offset, size, ended.damage)
        })
      }
    }
    if (!inOrder) continue
    const firstEntrySeq = rows[before]?.entry_seq ?? (head === undefined ? 0 : head.entry_seq + 1)
    openSegment = { segmentSeq, byteLength: ended.offset, firstEntrySeq }
  }
  return { head, rows, openSegment }
})

const rowOf = (found: FoundFrame, byteOffset: number): OffsetRow.OffsetRow =>
  OffsetRow.ofFrame(found.frame, byteOffset, found.end - found.start)

/** Only needed when the manifest's head is not that of its last sealed segment. */
const lastEntryId = Effect.fnUntraced(function* (layout: StoreLayout, sealed: Manifest.SealedSegment) {
  const path = layout.segment(sealed.segment_seq)
  let entryId = ""
  yield* withFile(path, "r", (file) =>
    scanSegment(file, path, 0, sealed.byte_length, (_bytes, found) => {
      entryId = found.frame.entry_id
      return undefined
    })
  )
  return entryId
})

const READ_BYTES = 1 << 20

/**
 * Reads the whole index. Rows are kept up to the first that is not as it should be; the rest goes to quarantine, and the
 * missing ones are made from the segments.
 */
const readIndex = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  tail: OpenTail,
  repairs: Array<Repair>
): Effect.fn.Return<{ readonly seqById: Map<string, number> }, StoreIoError, FileSystem.FileSystem> {
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
    if (row.entry_seq >= frameCount) return "a row points behind the head (INV-003)"
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
        for (let base = 0; damage === undefined && base < size;) {
          const filled = rest + (yield* readInto(file, layout.offsets, base + rest, buffer.subarray(rest)))
          let at = 0
          for (
            let newline = buffer.indexOf(0x0a);
            newline >= 0 && newline < filled;
            newline = buffer.indexOf(0x0a, at)
          ) {
            const row = OffsetRow.decode(buffer, at, newline)
            damage = accept(row)
            if (damage !== undefined || row === undefined) break
            seqById.set(detached(row.entry_id), row.entry_seq)
            last = row
            rowCount++
            at = newline + 1
            byteLength = base + at
          }
          if (damage === undefined && base + filled >= size) {
            if (at < filled) damage = "the last row breaks off"
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
    repairs.push({
      what: `index: ${frameCount - rowCount} missing rows made from the segments, from entry_seq ${rowCount} on`,
      mend: extendIndex(layout, manifest, tail, { byteLength, rowCount, last, created: byteLength === 0 }, seqById)
    })
  }
  return { seqById }
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

/** The rows of a sealed segment from `firstSeq` on; the segment must be whole. */
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
      rows.push(rowOf(found, byteOffset))
      return undefined
    })
  )
  if (ended.damage === undefined) return rows
  return yield* new StoreDamaged({ path, byteOffset: ended.offset, reason: ended.damage, invariant: "INV-005" })
})

const isSameRow = (a: OffsetRow.OffsetRow, b: OffsetRow.OffsetRow): boolean =>
  a.entry_id === b.entry_id &&
  a.parent_entry_id === b.parent_entry_id &&
  a.entry_type === b.entry_type &&
  a.segment_seq === b.segment_seq &&
  a.frame_seq === b.frame_seq &&
  a.byte_offset === b.byte_offset &&
  a.byte_length === b.byte_length

/** A torn line at the end of the ledger was never acknowledged; there is nothing to tell of it. */
export const cutLedger = Effect.fnUntraced(function* (layout: StoreLayout) {
  const { byteLength, trailingBytes } = yield* MigrationLedger.read(layout)
  if (trailingBytes === 0) return
  yield* Quarantine.cutOff(layout, layout.ledger, byteLength, byteLength + trailingBytes, "no whole event")
})

/** A manifest from the segments alone. Its state is DIRTY, by way of FAILED; when it was made is not known any more. */
const rebuildManifest = Effect.fnUntraced(function* (
  layout: StoreLayout,
  sessionId: string,
  error: StoreDamaged,
  repairs: Array<Repair>
): Effect.fn.Return<Manifest.Manifest, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path> {
  const seqs = (yield* listNames(layout.segments)).flatMap((name) => numberOf(name, ".seg") ?? [])
  const segments: Array<Manifest.SealedSegment> = []
  let head: Head | undefined
  // All but the last were sealed before the next one was made.
  for (const segmentSeq of seqs.slice(0, -1)) {
    const path = layout.segment(segmentSeq)
    const size = Option.getOrElse(yield* sizeOf(path), () => 0)
    const firstSeq = head === undefined ? 0 : head.entry_seq + 1
    const ended = yield* withFile(path, "r", (file) =>
      scanSegment(file, path, 0, size, (bytes, found) => {
        const wrong = follows(head, segmentSeq, found.frame)
        if (wrong === undefined) head = headOf(found.frame, chainHash(bytes.subarray(found.start, found.end)))
        return wrong
      })
    )
    if (ended.damage !== undefined || head?.segment_seq !== segmentSeq) {
      const reason = ended.damage ?? "the segment is empty"
      return yield* new StoreDamaged({ path, byteOffset: ended.offset, reason, invariant: "INV-005" })
    }
    segments.push({
      segment_seq: segmentSeq,
      frame_count: head.frame_seq,
      byte_length: size,
      first_entry_seq: firstSeq,
      last_entry_seq: head.entry_seq,
      chain_hash: head.chain_hash
    })
  }
  const at = yield* nowInstant
  const { events } = yield* MigrationLedger.read(layout)
  const completed = events.findLast((event) => event.phase === "completed")
  const size = Option.getOrUndefined(yield* sizeOf(layout.manifest))
  const manifest: Manifest.Manifest = {
    schema: Manifest.SCHEMA_ID,
    session_id: sessionId,
    revision: 1,
    state: "DIRTY",
    created_at: at,
    updated_at: at,
    head: head ?? null,
    entry_count: head?.entry_seq ?? 0,
    segments,
    index: { byte_length: 0, row_count: 0 },
    checkpoint_seq: null,
    correlation_id: completed?.correlation_id ?? null,
    source: completed?.source ?? null
  }
  const kept = size === undefined ? Effect.void : Quarantine.keep(layout, layout.manifest, 0, size, error.reason)
  repairs.push({
    what: `manifest: made again from the segments: ${error.reason}`,
    mend: Effect.andThen(kept, writeManifest(layout, manifest))
  })
  return manifest
})

/** One event for all that is mended at once. */
const record = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  head: Head | undefined,
  repairs: ReadonlyArray<Repair>
) {
  const reason = repairs.map((repair) => repair.what).join("; ")
  const digest = hash("sha256", `${head?.chain_hash ?? ""} ${reason}`, "hex").slice(0, 16)
  yield* MigrationLedger.append(layout, [
    {
      session_id: manifest.session_id,
      correlation_id: `recovery-${digest}`,
      phase: "recovered",
      outcome: "recoverable",
      entry_count: head?.entry_seq ?? 0,
      head_entry_id: head?.entry_id ?? null,
      chain_hash: head?.chain_hash ?? null,
      reason
    }
  ])
})
