/**
 * Reading everything of a container and saying what is wrong with it, each finding by the id of the invariant it breaks.
 * Nothing is changed, and no lock is taken: beside a live writer the last entries may be reported as not indexed yet.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as ActiveStore from "./ActiveStore.ts"
import * as Checkpoint from "./Checkpoint.ts"
import type * as Manifest from "./Manifest.ts"
import * as MigrationLedger from "./MigrationLedger.ts"
import * as OffsetRow from "./OffsetRow.ts"
import { chainHash } from "./SegmentFrame.ts"
import { InvariantId, type StoreIoError } from "./StoreError.ts"
import { type StoreLayout, numberOf } from "./StoreLayout.ts"
import { type StoreState } from "./StoreState.ts"
import { type Head } from "./WireField.ts"
import { rowsIn } from "./internal/IndexFile.ts"
import { detached } from "./internal/detached.ts"
import { listNames, readAt, readWhole, sizeOf, withFile } from "./internal/durable.ts"
import { follows, headOf } from "./internal/frameLink.ts"
import { otherSession, readManifest } from "./internal/manifestFile.ts"
import { scanOver } from "./internal/soundFrames.ts"

/** Something that is not as it should be. */
export const Finding = Schema.Struct({
  /** The invariant that does not hold; null for damage that breaks none (a torn checkpoint, which is ignored). */
  invariant: Schema.NullOr(InvariantId),
  path: Schema.String,
  /** Where in that file, in bytes. */
  byte_offset: Schema.Int,
  message: Schema.String
})
export type Finding = typeof Finding.Type

/** What a container holds, and what is wrong with it. */
export interface VerifyReport {
  readonly state: StoreState | undefined
  /** Without the session's header; whole ones only. */
  readonly entryCount: number
  readonly segmentCount: number
  /** Of all segments. */
  readonly segmentBytes: number
  readonly head: Head | undefined
  readonly findings: ReadonlyArray<Finding>
  /** What the ADR asks of a migration. */
  readonly hashChainMatch: boolean
  readonly indexConsistent: boolean
}

/** `<path>, byte 12: INV-005: ...` */
export const format = (finding: Finding): string =>
  `${finding.path}, byte ${finding.byte_offset}: ${finding.invariant === null ? "" : `${finding.invariant}: `}${finding.message}`

/** States in which every frame has its row. */
const INDEXED: ReadonlySet<StoreState> = new Set(["INDEXED", "CHECKPOINTED", "MIGRATED", "ROLLED_BACK"])

type Needs = FileSystem.FileSystem | Path.Path

/** What a container is held against besides itself. */
export interface VerifyOptions {
  /** The marker of its session. */
  readonly active?: ActiveStore.ActiveStore | undefined
  /** The session whose container it should be. */
  readonly sessionId?: string
}

/** Reads all of a container. */
export const verify = Effect.fn("StoreVerify.verify")(function* (
  layout: StoreLayout,
  options: VerifyOptions = {}
): Effect.fn.Return<VerifyReport, StoreIoError, Needs> {
  const findings: Array<Finding> = []
  const report = (invariant: InvariantId | null, path: string, byte_offset: number, message: string) =>
    findings.push({ invariant, path, byte_offset, message })

  const manifest = yield* Effect.result(readManifest(layout))
  if (Result.isFailure(manifest)) {
    const { failure } = manifest
    if (failure._tag === "StoreIoError") return yield* failure
    report(null, layout.manifest, 0, failure.reason)
  }
  const known = Result.getOrUndefined(manifest)
  const scanned = yield* scanSegments(layout, known, report)
  const indexed = known !== undefined && INDEXED.has(known.state)
  const promised = indexed ? scanned.frameCount : Math.min(scanned.frameCount, known?.index.row_count ?? 0)
  if (scanned.rowCount < promised) {
    const missing = `entries from entry_seq ${scanned.rowCount} on are not indexed`
    report("INV-003", layout.offsets, scanned.indexBytes, missing)
  }
  if (known?.head != null && known.head.entry_seq < scanned.frameCount) {
    const there = scanned.headAt.get(known.head.entry_seq)
    if (there !== undefined && there !== known.head.chain_hash) {
      report("INV-005", layout.manifest, 0, "the manifest's head is not in the hash chain")
    }
  } else if (known?.head != null) {
    report("INV-005", layout.manifest, 0, "the manifest's head is behind the last frame")
  }
  yield* checkCheckpoints(layout, known, scanned, report)
  const ledger = yield* MigrationLedger.read(layout)
  for (const { byteOffset, reason } of ledger.skipped) {
    report(null, layout.ledger, byteOffset, `the event on this line is lost: ${reason}`)
  }
  if (ledger.trailingBytes > 0) report(null, layout.ledger, ledger.byteLength, "a line that is no whole event")
  const made = known !== undefined && !["MIGRATION_STAGING", "FAILED", "ROLLED_BACK"].includes(known.state)
  if (made && known.correlation_id !== null && !MigrationLedger.isCompleted(ledger.events, known.correlation_id)) {
    report(null, layout.ledger, ledger.byteLength, "the migration that made this container is not told to its end")
  }
  const { active, sessionId } = options
  if (active !== undefined && known !== undefined) checkActive(layout, active, known, report)
  if (sessionId !== undefined) {
    const headerId = scanned.idAt.get(0) ?? sessionId
    if (known !== undefined && known.session_id !== sessionId) {
      report("INV-007", layout.manifest, 0, otherSession(known.session_id, sessionId))
    }
    if (headerId !== sessionId) report("INV-007", layout.segment(1), 0, otherSession(headerId, sessionId))
  }
  return {
    state: known?.state,
    entryCount: Math.max(0, scanned.frameCount - 1),
    segmentCount: scanned.segmentCount,
    segmentBytes: scanned.segmentBytes,
    head: scanned.head,
    findings,
    hashChainMatch: !findings.some(({ invariant }) => invariant === "INV-002" || invariant === "INV-005"),
    indexConsistent:
      scanned.rowCount === scanned.frameCount &&
      !findings.some(({ invariant }) => invariant === "INV-003" || invariant === "INV-006")
  }
})

type Report = (invariant: InvariantId | null, path: string, byteOffset: number, message: string) => void

interface Scanned {
  readonly head: Head | undefined
  readonly frameCount: number
  readonly segmentCount: number
  readonly segmentBytes: number
  /** Good rows of the index, and the bytes they take. */
  readonly rowCount: number
  readonly indexBytes: number
  /** `chain_hash` at the positions that manifest and checkpoints speak of. */
  readonly headAt: Map<number, string>
  readonly idAt: Map<number, string>
}

/** Every frame, every link, every parent, and the index beside them. */
const scanSegments = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest | undefined,
  report: Report
): Effect.fn.Return<Scanned, StoreIoError, Needs> {
  const seqs = (yield* listNames(layout.segments)).flatMap((name) => numberOf(name, ".seg") ?? [])
  const ids = new Set<string>()
  const wanted = yield* positionsOfInterest(layout, manifest)
  const headAt = new Map<number, string>()
  const idAt = new Map<number, string>()
  const index = yield* openIndex(layout)
  let head: Head | undefined
  /** After damage the next frame found is taken as it is. */
  let adrift = false
  let frameCount = 0
  let segmentBytes = 0
  let expectedSeq = 1
  for (const segmentSeq of seqs) {
    const path = layout.segment(segmentSeq)
    if (segmentSeq !== expectedSeq) report("INV-005", path, 0, `segment ${expectedSeq} is missing`)
    expectedSeq = segmentSeq + 1
    const size = Option.getOrElse(yield* sizeOf(path), () => 0)
    segmentBytes += size
    const sealed = manifest?.segments.find((sealed) => sealed.segment_seq === segmentSeq)
    if (sealed !== undefined && sealed.byte_length !== size) {
      report(
        "INV-005",
        path,
        Math.min(size, sealed.byte_length),
        `a sealed segment has ${size} bytes in place of ${sealed.byte_length}`
      )
    }
    const rows: Array<string> = []
    yield* withFile(path, "r", (file) =>
      scanOver(
        file,
        path,
        size,
        (bytes, found, byteOffset) => {
          const { frame } = found
          const wrong = adrift ? undefined : follows(head, segmentSeq, frame)
          if (wrong !== undefined) {
            const invariant = wrong.startsWith("entry_seq") || wrong.startsWith("frame_seq") ? "INV-002" : "INV-005"
            report(invariant, path, byteOffset, wrong)
          }
          adrift = false
          const parentId = frame.parent_entry_id
          // Most entries follow the one before them; the header is no entry.
          const followsLast = head !== undefined && head.entry_seq > 0 && parentId === head.entry_id
          if (parentId !== null && !followsLast && !ids.has(parentId)) {
            report("INV-001", path, byteOffset, `entry ${frame.entry_id} has an unknown parent ${parentId}`)
          }
          if (frame.entry_seq > 0) ids.add(detached(frame.entry_id))
          head = headOf(frame, chainHash(bytes.subarray(found.start, found.end)))
          if (wanted.has(frame.entry_seq)) {
            headAt.set(frame.entry_seq, head.chain_hash)
            idAt.set(frame.entry_seq, frame.entry_id)
          }
          rows.push(OffsetRow.encodeText(OffsetRow.ofFrame(frame, byteOffset, found.end - found.start)))
          frameCount = frame.entry_seq + 1
        },
        (gap) => {
          const upTo = gap.end === size ? "to the end of the segment" : `up to byte ${gap.end}`
          report("INV-005", path, gap.byteOffset, `${gap.reason} (${upTo})`)
          adrift = true
          index.lost = true
        }
      )
    )
    if (sealed !== undefined && head !== undefined && !adrift && head.chain_hash !== sealed.chain_hash) {
      report("INV-005", path, size, "the segment does not end where its manifest says the chain does")
    }
    yield* compareIndex(index, Buffer.from(rows.join("")), report)
  }
  if (index.byteLength > index.checked && !index.lost) {
    report("INV-003", layout.offsets, index.checked, "rows without a frame")
  }
  return {
    head,
    frameCount,
    segmentCount: seqs.length,
    segmentBytes,
    rowCount: index.rowCount,
    indexBytes: index.checked,
    headAt,
    idAt
  }
})

interface IndexCursor {
  readonly path: string
  readonly byteLength: number
  /** Bytes and rows that agree with the frames so far. */
  checked: number
  rowCount: number
  /** Frames and rows do not go side by side any more. */
  lost: boolean
}

const openIndex = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<IndexCursor, StoreIoError, Needs> {
  const byteLength = Option.getOrElse(yield* sizeOf(layout.offsets), () => 0)
  return { path: layout.offsets, byteLength, checked: 0, rowCount: 0, lost: false }
})

/** Compares the rows that the frames of a segment should have with those on disk. */
const compareIndex = Effect.fnUntraced(function* (
  index: IndexCursor,
  expected: Buffer,
  report: Report
): Effect.fn.Return<void, StoreIoError, Needs> {
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
  // From a negative place Buffer would look back from its end.
  const whole = same === 0 ? 0 : expected.lastIndexOf(0x0a, same - 1) + 1
  for (let at = expected.indexOf(0x0a); at >= 0 && at < whole; at = expected.indexOf(0x0a, at + 1)) index.rowCount++
  const start = index.checked + whole
  index.checked = start
  if (same === expected.length) return
  index.lost = true
  if (same < bytes.length || whole < bytes.length) {
    const sound = rowsIn(bytes.subarray(whole), start).rows.length > 0
    report(
      "INV-003",
      index.path,
      start,
      sound ? "a row says something else than its frame" : "a row is not as it was written"
    )
  }
})

/** Positions whose chain hash the manifest and the checkpoints name, and that of the header. */
const positionsOfInterest = Effect.fnUntraced(function* (layout: StoreLayout, manifest: Manifest.Manifest | undefined) {
  const wanted = new Set([0])
  if (manifest?.head != null) wanted.add(manifest.head.entry_seq)
  for (const { checkpoint } of yield* readCheckpoints(layout)) {
    if (Result.isFailure(checkpoint)) continue
    wanted.add(checkpoint.success.head.entry_seq)
    for (const ref of Object.values(checkpoint.success.active_context)) if (ref !== null) wanted.add(ref.entry_seq)
  }
  return wanted
})

const readCheckpoints = Effect.fnUntraced(function* (layout: StoreLayout) {
  const path = yield* Path.Path
  const found: Array<{
    readonly path: string
    readonly seq: number
    readonly checkpoint: Result.Result<Checkpoint.Checkpoint, string>
  }> = []
  for (const name of yield* listNames(layout.checkpoints)) {
    const seq = numberOf(name, ".json")
    if (seq === undefined) continue
    const at = path.join(layout.checkpoints, name)
    const bytes = Option.getOrElse(yield* readWhole(at), () => Buffer.alloc(0))
    found.push({ path: at, seq, checkpoint: Checkpoint.decode(bytes) })
  }
  return found
})

const checkCheckpoints = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest | undefined,
  scanned: Scanned,
  report: Report
): Effect.fn.Return<void, StoreIoError, Needs> {
  let previous: Checkpoint.Checkpoint | undefined
  const checkpoints = yield* readCheckpoints(layout)
  const there = new Set(checkpoints.map(({ seq }) => seq))
  const last = Math.max(manifest?.checkpoint_seq ?? 0, ...there)
  for (let seq = 1; seq <= last; seq++) {
    if (!there.has(seq)) report(null, layout.checkpoint(seq), 0, "the checkpoint is missing")
  }
  for (const { path, seq, checkpoint } of checkpoints) {
    if (Result.isFailure(checkpoint)) {
      report(null, path, 0, `the checkpoint is ignored: ${checkpoint.failure}`)
      continue
    }
    const { success: found } = checkpoint
    if (found.checkpoint_seq !== seq) report("INV-004", path, 0, `its number is ${found.checkpoint_seq}`)
    const { head } = found
    if (scanned.headAt.get(head.entry_seq) !== head.chain_hash) {
      report("INV-004", path, 0, "its head is not in the hash chain")
    }
    if (previous !== undefined && head.entry_seq < previous.head.entry_seq) {
      report("INV-004", path, 0, "its head lies before that of the checkpoint before it")
    }
    if (manifest?.state === "CHECKPOINTED" && manifest.checkpoint_seq === seq) {
      if (manifest.head?.chain_hash !== head.chain_hash) report("INV-004", path, 0, "its head is not the manifest's")
    }
    for (const ref of Object.values(found.active_context)) {
      if (ref === null) continue
      if (ref.entry_seq >= scanned.rowCount) {
        report("INV-006", path, 0, `entry ${ref.entry_id} of the active context is not indexed`)
      } else if (scanned.idAt.has(ref.entry_seq) && scanned.idAt.get(ref.entry_seq) !== ref.entry_id) {
        report("INV-006", path, 0, `entry ${ref.entry_id} is not at entry_seq ${ref.entry_seq}`)
      }
    }
    previous = found
  }
})

/** INV-007: the active store marker and the manifest pointer tell the same, and the container's state agrees. */
const checkActive = (
  layout: StoreLayout,
  active: ActiveStore.ActiveStore,
  manifest: Manifest.Manifest,
  report: Report
): void => {
  const isNative = active.active === "native_v2"
  if (isNative !== (active.manifest !== null)) {
    report("INV-007", layout.manifest, 0, `the active store is ${active.active}, the manifest pointer says otherwise`)
  }
  if (isNative && manifest.state === "ROLLED_BACK") {
    report("INV-007", layout.manifest, 0, "the container is the active store, but its state is ROLLED_BACK")
  }
  if (isNative && manifest.state === "MIGRATION_STAGING") {
    report("INV-007", layout.manifest, 0, "the cutover to this container was not finished")
  }
  if (!isNative && !["ROLLED_BACK", "MIGRATION_STAGING", "CLEAN", "FAILED"].includes(manifest.state)) {
    report("INV-007", layout.manifest, 0, `another store is active, but this container's state is ${manifest.state}`)
  }
}
