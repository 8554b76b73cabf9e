/** The rollback of a session from its container to a file, step by step. Rules: docs/adr/003-session-store-v2.md. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { StoreFailed, type StoreIoError, StoreNotActive, StoreNotFound, VerificationFailed } from "../StoreError.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { StoreLock } from "../StoreLock.ts"
import * as StoreReader from "../StoreReader.ts"
import * as StoreVerify from "../StoreVerify.ts"
import * as StoreWriter from "../StoreWriter.ts"
import { moveActive, readActive } from "../files/activeStoreFile.ts"
import { sizeOf } from "../files/durable.ts"
import { readManifest, readSoundManifest, stepManifest } from "../files/manifestFile.ts"
import { type ActiveStore } from "../wire/ActiveStore.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { correlationIdOf } from "./correlationId.ts"
import * as Cutover from "./cutover.ts"
import { type ForeignFormat, readBytes, snapshotOf, writeBytes } from "./foreignStore.ts"
import { type RollbackError, type RollbackOptions, type RolledBack } from "./outcome.ts"
import { type SourceChange, changeOf } from "./sourceChange.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

/** Makes a file that holds what the container holds, and makes it the active store. */
export const rollback = Effect.fn("StoreMigration.rollback")(function* (
  location: StoreLayout.StoreLocation,
  options: RollbackOptions = {}
): Effect.fn.Return<RolledBack, RollbackError, Needs | StoreLock> {
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const path = yield* Path.Path
      const layout = StoreLayout.ofLocation(path, location)
      yield* prepare(location, layout)
      const { entryCount, head } = yield* soundReport(layout)
      const reader = yield* StoreReader.open(layout)
      const { change, correlation_id, exported, format, held, name } = yield* plan(location, layout, reader, options)
      const file = path.resolve(location.directory, name)
      const event = {
        session_id: location.sessionId,
        correlation_id,
        source: held,
        target: { ...held, format, path: name },
        entry_count: entryCount,
        head_entry_id: head?.entry_id ?? null,
        chain_hash: head?.chain_hash ?? null,
        reason: options.reason ?? "asked for"
      }
      yield* MigrationLedger.append(layout, [{ ...event, phase: "rollback_planned", outcome: "ok" }])
      if (exported) yield* writeBytes(format, file, reader.payloads)
      const written = yield* snapshotOf(format, name, readBytes(format, file))
      if (written.snapshot_id !== held.snapshot_id) {
        const reason = `${file} does not hold what was written to it`
        yield* MigrationLedger.append(layout, [{ ...event, phase: "rolled_back", outcome: "failed", reason }])
        return yield* new VerificationFailed({ path: file, reason })
      }
      // The commit.
      yield* moveActive(location, { active: format, path: name, correlation_id })
      yield* stepManifest(layout, yield* readManifest(layout), "ROLLED_BACK")
      yield* MigrationLedger.append(layout, [{ ...event, phase: "rolled_back", outcome: "ok" }])
      const sourceChanged = change === "gone" ? "no" : change
      return { path: file, format, exported, sourceChanged, entryCount, correlationId: correlation_id }
    })
  )
})

/** Locks the session, finishes what was interrupted, and writes a checkpoint. */
const prepare = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  layout: StoreLayout.StoreLayout
): Effect.fn.Return<void, RollbackError, Needs | StoreLock | Scope.Scope> {
  if ((yield* readActive(location)) === undefined) return yield* new StoreNotFound({ path: layout.container })
  yield* (yield* StoreLock).acquire(StoreLayout.names(yield* Path.Path, location).lock)
  // This rollback is the person's decision that a cutover in state FAILED waits for.
  const active = yield* Cutover.reconcile(location).pipe(Effect.catchTag("StoreFailed", () => readActive(location)))
  yield* mustBeLeft(location, layout, active)
  // Opening for writing rebuilds a damaged manifest.
  const manifest = yield* readSoundManifest(layout)
  if (manifest?.state === "FAILED") return
  yield* Effect.scoped(
    Effect.flatMap(StoreWriter.open(layout, location.sessionId), (writer) => writer.checkpoint()).pipe(
      // Reports the first of all findings instead of the one that stopped the checkpoint.
      Effect.catchTag("StoreDamaged", (error) => Effect.andThen(soundReport(layout), Effect.fail(error)))
    )
  )
})

/** Fails unless the container is the active store, or the file that it was left for is missing. */
const mustBeLeft = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  { container }: StoreLayout.StoreLayout,
  active: ActiveStore | undefined
): Effect.fn.Return<void, StoreIoError | StoreFailed | StoreNotFound | StoreNotActive, Needs> {
  if (active === undefined) return yield* new StoreNotFound({ path: container })
  if (active.active === "native_v2") return
  const activePath = Cutover.activeFile(yield* Path.Path, location, active)
  if (Option.isSome(yield* sizeOf(activePath))) {
    return yield* new StoreNotActive({ path: container, active: active.active, activePath })
  }
  if (Option.isSome(yield* sizeOf(container))) return
  const reason = `the session was rolled back to ${activePath}, which is missing, and so is the container`
  return yield* new StoreFailed({ path: container, reason })
})

/** The report of a container that holds a whole session; fails for any other. */
const soundReport = Effect.fnUntraced(function* (
  layout: StoreLayout.StoreLayout
): Effect.fn.Return<StoreVerify.VerifyReport, VerificationFailed | StoreIoError, Needs> {
  const report = yield* StoreVerify.verify(layout)
  if (report.hashChainMatch && report.head !== undefined) return report
  const [first] = report.findings
  const reason = first === undefined ? "the container holds no session" : StoreVerify.format(first)
  return yield* new VerificationFailed({ path: layout.container, reason })
})

interface Plan {
  readonly format: ForeignFormat
  /** Snapshot of the container. */
  readonly held: Snapshot
  readonly change: SourceChange | "gone"
  /** Whether a new file is written; false where the source holds every entry. */
  readonly exported: boolean
  /** Name of the file that becomes the active store. */
  readonly name: string
  readonly correlation_id: string
}

const plan = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  layout: StoreLayout.StoreLayout,
  reader: StoreReader.StoreReader,
  options: RollbackOptions
): Effect.fn.Return<Plan, RollbackError, Needs> {
  const path = yield* Path.Path
  const manifest = yield* readManifest(layout)
  const { source } = manifest
  const format = options.format ?? (source?.format === "sqlite_v1" ? "sqlite_v1" : "jsonl_v3")
  const bytes = Stream.flattenIterable(reader.payloads)
  const held = yield* snapshotOf("native_v2", path.basename(layout.container), bytes)
  const change = yield* changeOf(location, source)
  const holdsAll = change === "no" && source?.format === format && source.snapshot_id === held.snapshot_id
  return {
    format,
    held,
    change,
    exported: !holdsAll,
    name: holdsAll ? source.path : yield* freeName(location, source, format),
    correlation_id: manifest.correlation_id ?? (yield* correlationIdOf(location, held))
  }
})

/** A free file name beside the source. */
const freeName = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  source: Snapshot | null,
  format: ForeignFormat
): Effect.fn.Return<string, StoreIoError, Needs> {
  const path = yield* Path.Path
  const extension = format === "sqlite_v1" ? ".sqlite" : ".jsonl"
  const stem = source === null ? location.sessionId : source.path.replace(/(\.rollback-[0-9]+)?\.[a-z0-9]+$/, "")
  for (let n = 1; ; n++) {
    const name = `${stem}.rollback-${n}${extension}`
    if (Option.isNone(yield* sizeOf(path.join(location.directory, name)))) return name
  }
})
