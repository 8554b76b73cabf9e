/**
 * Verification of a container: reads all of it and reports each broken invariant. Changes nothing and takes no lock.
 *
 * A record that promises something is read before what it promises (manifest, checkpoints, size of the index, then the
 * segments), so that a live writer can only be ahead of the promise. Entries appended meanwhile are read, and nothing is
 * expected of them.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { InvariantId, type StoreIoError } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import { type StoreState } from "./StoreState.ts"
import { readManifest } from "./files/manifestFile.ts"
import * as CheckpointFiles from "./read/checkpointFiles.ts"
import * as CheckpointCheck from "./verify/checkpointCheck.ts"
import * as IndexCheck from "./verify/indexCheck.ts"
import * as LedgerCheck from "./verify/ledgerCheck.ts"
import * as ManifestCheck from "./verify/manifestCheck.ts"
import { checkSegments } from "./verify/segmentCheck.ts"
import type * as ActiveStore from "./wire/ActiveStore.ts"
import { type Head } from "./wire/WireField.ts"

/** One problem of a container. */
export const Finding = Schema.Struct({
  /** The broken invariant; null for damage that breaks none, such as a torn checkpoint, which is ignored. */
  invariant: Schema.NullOr(InvariantId),
  path: Schema.String,
  /** Position in that file, in bytes. */
  byte_offset: Schema.Int,
  message: Schema.String
})
export type Finding = typeof Finding.Type

/** Contents and problems of a container. */
export interface VerifyReport {
  /** Undefined when the manifest is missing or damaged. */
  readonly state: StoreState | undefined
  /** Whole entries, without the session's header. */
  readonly entryCount: number
  readonly segmentCount: number
  readonly segmentBytes: number
  readonly head: Head | undefined
  readonly findings: ReadonlyArray<Finding>
  /** Whether INV-002 and INV-005 hold. */
  readonly hashChainMatch: boolean
  /** Whether every frame has its row, and INV-003 and INV-006 hold. */
  readonly indexConsistent: boolean
}

/** `<path>, byte 12: INV-005: ...` */
export const format = (finding: Finding): string =>
  `${finding.path}, byte ${finding.byte_offset}: ${finding.invariant === null ? "" : `${finding.invariant}: `}${finding.message}`

/** Other facts that the container must agree with. */
export interface VerifyOptions {
  /** The marker of its session. */
  readonly active?: ActiveStore.ActiveStore | undefined
  /** The session whose container it should be. */
  readonly sessionId?: string
}

/** Reads all of a container and reports its problems. */
export const verify = Effect.fn("StoreVerify.verify")(function* (
  layout: StoreLayout,
  { active, sessionId }: VerifyOptions = {}
): Effect.fn.Return<VerifyReport, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const findings: Array<Finding> = []
  const report = (invariant: InvariantId | null, path: string, byte_offset: number, message: string) =>
    findings.push({ invariant, path, byte_offset, message })
  const isBroken = (...invariants: ReadonlyArray<InvariantId>) =>
    findings.some(({ invariant }) => invariant !== null && invariants.includes(invariant))

  const read = yield* Effect.result(readManifest(layout))
  if (Result.isFailure(read)) {
    if (read.failure._tag === "StoreIoError") return yield* read.failure
    report(null, layout.manifest, 0, read.failure.reason)
  }
  const manifest = Result.getOrUndefined(read)
  const checkpoints = yield* CheckpointFiles.readAll(layout)
  const index = yield* IndexCheck.open(layout)
  const wanted = new Set([0, manifest?.head?.entry_seq ?? 0, ...CheckpointCheck.positions(checkpoints)])
  const scanned = yield* checkSegments(layout, manifest, wanted, index, report)
  if (manifest !== undefined) yield* ManifestCheck.check(layout, manifest, scanned, index, report)
  const history = { rowCount: index.rowCount, headAt: scanned.headAt, idAt: scanned.idAt }
  const sound = CheckpointCheck.check(layout, manifest, checkpoints, history, report)
  // Only a whole history can be folded.
  if (!isBroken("INV-001", "INV-002", "INV-003", "INV-005")) yield* CheckpointCheck.foldAgain(layout, sound, report)
  yield* LedgerCheck.check(layout, manifest, report)
  if (active !== undefined && manifest !== undefined) ManifestCheck.checkActive(layout, active, manifest, report)
  if (sessionId !== undefined) ManifestCheck.checkSession(layout, sessionId, manifest, scanned.idAt.get(0), report)
  return {
    state: manifest?.state,
    entryCount: Math.max(0, scanned.frameCount - 1),
    segmentCount: scanned.segmentCount,
    segmentBytes: scanned.segmentBytes,
    head: scanned.head,
    findings,
    hashChainMatch: !isBroken("INV-002", "INV-005"),
    indexConsistent: index.rowCount === scanned.frameCount && !isBroken("INV-003", "INV-006")
  }
})
