/** The migration of a session into a container, step by step. Rules: docs/adr/003-session-store-v2.md. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { MigrationRefused, VerificationFailed } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { StoreLock } from "../StoreLock.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { moveActive, readActive } from "../files/activeStoreFile.ts"
import { readManifest, stepManifest } from "../files/manifestFile.ts"
import { check, fill } from "./containerBuild.ts"
import { correlationIdOf } from "./correlationId.ts"
import * as Cutover from "./cutover.ts"
import * as EarlierStore from "./earlierStore.ts"
import { type ForeignFormat, readBytes, snapshotOf } from "./foreignStore.ts"
import { type MigrateError, type MigrateOptions, type Migrated } from "./outcome.ts"
import { type Inspected, inspect } from "./sourceSession.ts"
import * as Staging from "./staging.ts"
import * as Unmarked from "./unmarked.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

/** A session to migrate. */
interface Source {
  readonly location: StoreLayout.StoreLocation
  /** Absolute path. */
  readonly file: string
  readonly format: ForeignFormat
  readonly found: Inspected
}

/** Migrates the session in `file` (absolute path). */
export const migrate = Effect.fn("StoreMigration.migrate")(function* (
  file: string,
  options: MigrateOptions = {}
): Effect.fn.Return<Migrated, MigrateError, Needs | StoreLock> {
  const path = yield* Path.Path
  const format = options.format ?? "jsonl_v3"
  const found = yield* inspect(path.basename(file), format, readBytes(format, file))
  const location = { directory: path.dirname(file), sessionId: found.sessionId }
  return yield* Effect.scoped(migrateLocked({ location, file, format, found }, options))
})

/** Holds the lock until the scope closes, and answers without building where the session has an active store already. */
const migrateLocked = Effect.fnUntraced(function* (source: Source, options: MigrateOptions) {
  const { file, found, location } = source
  const refused =
    found.findings.length === 0 ? Effect.void : new MigrationRefused({ path: file, findings: found.findings })
  // Without a store, a refusal leaves nothing behind, not even a lock file.
  const hasStore = StoreLayout.isSafeId(found.sessionId) && (yield* readActive(location)) !== undefined
  if (!hasStore) yield* refused
  const names = StoreLayout.names(yield* Path.Path, location)
  yield* (yield* StoreLock).acquire(names.lock)
  const active = yield* Cutover.reconcile(location)
  if (active?.active === "native_v2") return yield* EarlierStore.alreadyMigrated(location, file, found.snapshot)
  if (active !== undefined && active.path !== found.snapshot.path) {
    return yield* EarlierStore.superseded(location, file, found.snapshot, found.entryCount)
  }
  yield* refused
  if (active === undefined) yield* Unmarked.mustBeFree(location)
  return yield* build(source, options)
})

/** Builds a container, checks it, makes it the active store, and checks that the source did not change meanwhile. */
const build = Effect.fnUntraced(function* (
  { file, format, found, location }: Source,
  options: MigrateOptions
): Effect.fn.Return<Migrated, MigrateError, Needs> {
  const path = yield* Path.Path
  const source = found.snapshot
  const containerName = path.basename(StoreLayout.names(path, location).container)
  const correlation_id = yield* correlationIdOf(location, source)
  const event = {
    session_id: location.sessionId,
    correlation_id,
    source,
    target: { ...source, format: "native_v2" as const, path: containerName },
    entry_count: found.entryCount
  }
  const staged = yield* Staging.begin(location, {
    correlationId: correlation_id,
    source,
    state: "MIGRATION_STAGING",
    planned: { ...event, phase: "planned", outcome: "ok" }
  })
  yield* fill(staged, location.sessionId, readBytes(format, file), found.exceptions, options)
  yield* MigrationLedger.append(staged, [{ ...event, phase: "staged", outcome: "ok" }])

  const { reason, ...checked } = yield* check(staged, found)
  const verified = { ...event, ...checked }
  if (reason !== undefined) {
    yield* MigrationLedger.append(staged, [{ ...verified, phase: "aborted", outcome: "failed", reason }])
    return yield* new VerificationFailed({ path: staged.container, reason })
  }
  yield* MigrationLedger.append(staged, [{ ...verified, phase: "verified", outcome: "ok" }])

  const layout = yield* Staging.place(location, staged)
  // The commit: one rename moves the manifest pointer and the active store marker.
  yield* moveActive(location, { active: "native_v2", path: containerName, correlation_id })
  const now = yield* snapshotOf(format, source.path, readBytes(format, file))
  if (now.snapshot_id !== source.snapshot_id) {
    yield* Cutover.reconcile(location)
    return yield* new VerificationFailed({ path: file, reason: "the source was written to during the migration" })
  }
  yield* stepManifest(layout, yield* readManifest(layout), "MIGRATED")
  yield* MigrationLedger.append(layout, [{ ...verified, phase: "completed", outcome: "ok" }])
  return {
    location,
    outcome: "migrated",
    entryCount: found.entryCount,
    byteLength: source.byte_length,
    correlationId: correlation_id,
    sourceGrewBy: 0,
    sourceChanged: "no"
  }
})
