/**
 * Reading everything of a container and saying what is wrong with it, each finding by the id of the invariant it breaks.
 * Nothing is changed, and no lock is taken. What promises something is read before what it promises (manifest,
 * checkpoints, size of the index, then the segments), so that a live writer is only ever ahead of it; what it appended
 * since is read, and held against nothing.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as ActiveStore from "./wire/ActiveStore.ts"
import type * as Manifest from "./wire/Manifest.ts"
import * as MigrationLedger from "./MigrationLedger.ts"
import * as OffsetRow from "./wire/OffsetRow.ts"
import { chainHash } from "./wire/SegmentFrame.ts"
import { InvariantId, type StoreIoError } from "./StoreError.ts"
import { type StoreLayout, numberOf } from "./StoreLayout.ts"
import { SETTLED, type StoreState } from "./StoreState.ts"
import { type Head } from "./wire/WireField.ts"
import * as CheckpointCheck from "./verify/checkpointCheck.ts"
import * as CheckpointFiles from "./read/checkpointFiles.ts"
import { detached } from "./wire/detached.ts"
import { listNames, sizeOf, withFile } from "./files/durable.ts"
import { type Report } from "./verify/findings.ts"
import { follows, headOf } from "./wire/frameLink.ts"
import * as IndexCheck from "./verify/indexCheck.ts"
import { otherSession, readManifest } from "./files/manifestFile.ts"
import { type Gap, scanOver } from "./read/soundFrames.ts"

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

/** Invariants without which a history cannot be folded. */
const HISTORY: ReadonlySet<InvariantId> = new Set(["INV-001", "INV-002", "INV-003", "INV-005"])

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
  const checkpoints = yield* CheckpointFiles.readAll(layout)
  const index = yield* IndexCheck.open(layout)
  const scanned = yield* scanSegments(layout, known, checkpoints, index, report)
  const settledAt = known?.head == null ? 0 : known.head.entry_seq + 1
  const promised = Math.max(
    known !== undefined && INDEXED.has(known.state) ? settledAt : 0,
    Math.min(scanned.frameCount, known?.index.row_count ?? 0)
  )
  if (index.rowCount < promised) {
    const missing = `entries from entry_seq ${index.rowCount} on are not indexed`
    report("INV-003", layout.offsets, index.checked, missing)
  }
  if (known !== undefined && known.head !== null) {
    const there = scanned.headAt.get(known.head.entry_seq)
    if (known.head.entry_seq >= scanned.frameCount) {
      report("INV-005", layout.manifest, 0, "the manifest's head is behind the last frame")
    } else if (there !== undefined && there !== known.head.chain_hash) {
      report("INV-005", layout.manifest, 0, "the manifest's head is not in the hash chain")
    }
  }
  if (known !== undefined) {
    // A manifest that was made again does not count the last segment, also where the container was left for its source.
    const isBehind = SETTLED.has(known.state) && known.state !== "ROLLED_BACK" && scanned.frameCount > settledAt
    const isOlder = isBehind || scanned.segmentCount > known.segments.length + 1
    if (isOlder && (yield* isAsItWas(layout, known))) {
      const message = `the manifest is older than the segments: it ends at entry ${settledAt - 1}, ${known.state}`
      report(null, layout.manifest, 0, message)
    }
  }
  const history = { rowCount: index.rowCount, headAt: scanned.headAt, idAt: scanned.idAt }
  const sound = CheckpointCheck.check(layout, known, checkpoints, history, report)
  const isWhole = !findings.some(({ invariant }) => invariant !== null && HISTORY.has(invariant))
  if (isWhole) yield* CheckpointCheck.foldAgain(layout, sound, report)
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
      index.rowCount === scanned.frameCount &&
      !findings.some(({ invariant }) => invariant === "INV-003" || invariant === "INV-006")
  }
})

/** Whether the manifest is still the one that was read: a writer at work would have changed it. */
const isAsItWas = Effect.fnUntraced(function* (layout: StoreLayout, known: Manifest.Manifest) {
  const now = yield* readManifest(layout).pipe(Effect.catchTag("StoreDamaged", () => Effect.succeed(undefined)))
  return now?.revision === known.revision && now.updated_at === known.updated_at
})

interface Scanned {
  readonly head: Head | undefined
  readonly frameCount: number
  readonly segmentCount: number
  readonly segmentBytes: number
  /** `chain_hash` at the positions that manifest and checkpoints speak of. */
  readonly headAt: Map<number, string>
  readonly idAt: Map<number, string>
}

/** Every frame, every link, every parent, and the index beside them. */
const scanSegments = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest | undefined,
  checkpoints: ReadonlyArray<CheckpointFiles.CheckpointFile>,
  index: IndexCheck.IndexCursor,
  report: Report
): Effect.fn.Return<Scanned, StoreIoError, Needs> {
  const seqs = (yield* listNames(layout.segments)).flatMap((name) => numberOf(name, ".seg") ?? [])
  const ids = new Set<string>()
  const wanted = new Set([0, manifest?.head?.entry_seq ?? 0, ...CheckpointCheck.positions(checkpoints)])
  const headAt = new Map<number, string>()
  const idAt = new Map<number, string>()
  let head: Head | undefined
  /** After damage the next frame found is taken as it is. */
  let adrift = false
  let isInLines = false
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
    const firstSeq = head === undefined ? 0 : head.entry_seq + 1
    const rows: Array<string> = []
    let torn: Gap | undefined
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
          const missingId = frame.missing_parent_id
          if (missingId !== undefined && (parentId !== null || ids.has(missingId))) {
            report("INV-001", path, byteOffset, `entry ${frame.entry_id} lacks its parent ${missingId}, which is there`)
          }
          if (frame.entry_seq === 0) isInLines = frame.links_in_lines === true
          else if (frame.entry_id === "") {
            if (!isInLines) report("INV-001", path, byteOffset, `the entry of entry_seq ${frame.entry_seq} has no id`)
          } else {
            const known = ids.size
            ids.add(detached(frame.entry_id))
            if (ids.size === known)
              report("INV-001", path, byteOffset, `the id ${frame.entry_id} is another entry's already`)
          }
          head = headOf(frame, chainHash(bytes.subarray(found.start, found.end)))
          if (wanted.has(frame.entry_seq)) {
            headAt.set(frame.entry_seq, head.chain_hash)
            idAt.set(frame.entry_seq, frame.entry_id)
          }
          rows.push(OffsetRow.encodeText(OffsetRow.ofFrame(frame, byteOffset, found.end - found.start)))
          frameCount = frame.entry_seq + 1
        },
        (gap) => {
          // Of an append under way, or torn.
          if (gap.end === size && segmentSeq === seqs.at(-1) && sealed === undefined && !adrift) {
            torn = gap
            return
          }
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
    if (sealed !== undefined && !index.lost && head !== undefined) {
      const { first_entry_seq, frame_count, last_entry_seq } = sealed
      if (frame_count !== rows.length || last_entry_seq !== head.entry_seq || first_entry_seq !== firstSeq) {
        const counted = `${frame_count} frames, entry_seq ${first_entry_seq} to ${last_entry_seq}`
        report("INV-005", layout.manifest, 0, `it counts ${counted} in segment ${segmentSeq}, which holds others`)
      }
    }
    yield* IndexCheck.compare(layout, index, Buffer.from(rows.join("")), report)
    if (torn !== undefined) {
      // Where neither row nor manifest tells of a frame, this is what an append leaves that was not acknowledged.
      const isPromised = index.byteLength > index.checked || (manifest?.head?.entry_seq ?? -1) >= frameCount
      const grown = Option.getOrElse(yield* sizeOf(path), () => 0) !== size
      if (isPromised) report("INV-005", path, torn.byteOffset, `${torn.reason} (to the end of the segment)`)
      else if (!grown) report(null, path, torn.byteOffset, `nothing tells of a frame here: ${torn.reason}`)
      index.lost ||= isPromised
    }
  }
  for (const { segment_seq } of manifest?.segments ?? []) {
    if (segment_seq >= expectedSeq) report("INV-005", layout.segment(segment_seq), 0, "a sealed segment is missing")
  }
  if (index.byteLength > index.checked && !index.lost) {
    report("INV-003", layout.offsets, index.checked, "rows without a frame")
  }
  return {
    head,
    frameCount,
    segmentCount: seqs.length,
    segmentBytes,
    headAt,
    idAt
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
