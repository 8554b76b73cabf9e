/**
 * Migration of a session into a container, and rollback out of it (ADR, "Migration and rollback contract").
 *
 * A migration reads the source twice and changes nothing of it: once to see that it is sound and what it holds, once to
 * build a container beside it. Only a container that was read again and gives back the very bytes of the source becomes
 * the active store, by one rename. A rollback writes every entry, those appended since too, to a new file beside the
 * untouched source (to the source itself when it holds them all) and makes that one active.
 */
import { hash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { type ActiveStore } from "./wire/ActiveStore.ts"
import type * as Manifest from "./wire/Manifest.ts"
import type * as MigrationEvent from "./wire/MigrationEvent.ts"
import * as MigrationLedger from "./MigrationLedger.ts"
import {
  type EntryRefused,
  type MarkerLost,
  type StoreDamaged,
  StoreFailed,
  type StoreIoError,
  type StoreLocked,
  StoreNotActive,
  StoreNotFound
} from "./StoreError.ts"
import * as StoreLayout from "./StoreLayout.ts"
import { StoreLock } from "./StoreLock.ts"
import * as StoreReader from "./StoreReader.ts"
import * as StoreVerify from "./StoreVerify.ts"
import * as StoreWriter from "./StoreWriter.ts"
import { type Snapshot } from "./wire/WireField.ts"
import { moveActive, readActive } from "./files/activeStoreFile.ts"
import * as Cutover from "./migrate/cutover.ts"
import { sizeOf } from "./files/durable.ts"
import { type ForeignFormat, readBytes, snapshotOf, writeBytes } from "./migrate/foreignStore.ts"
import { type SourceChange, changeOf, changeSince, lastTold } from "./migrate/sourceChange.ts"
import { type Inspected, type SourceFinding, inspect } from "./migrate/sourceSession.ts"
import { readManifest, stepped, writeManifest } from "./files/manifestFile.ts"
import { check, fill } from "./migrate/containerBuild.ts"
import * as Staging from "./migrate/staging.ts"
import * as Unmarked from "./migrate/unmarked.ts"

/** The source is no session of format version 3, or its id names no file. Nothing was changed; it stays as it is. */
export class MigrationRefused extends Schema.TaggedError<MigrationRefused>()("MigrationRefused", {
  path: Schema.String,
  findings: Schema.Array(Schema.Struct({ line: Schema.Int, byteOffset: Schema.Int, message: Schema.String }))
}) {
  override get message(): string {
    const [first] = this.findings
    const more = this.findings.length > 1 ? ` (and ${this.findings.length - 1} more)` : ""
    return `${this.path}:${first?.line ?? 1} (byte ${first?.byteOffset ?? 0}): ${first?.message ?? ""}${more}; the session was not migrated and stays as it is`
  }
}

/** What was written does not hold what it should. It was not made active. */
export class VerificationFailed extends Schema.TaggedError<VerificationFailed>()("VerificationFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.reason}; the store that was active stays so. Try again when nobody writes to it; "pi-sessions store verify" tells what is wrong with a container`
  }
}

export type { SourceChange } from "./migrate/sourceChange.ts"

/** How to migrate. */
export interface MigrateOptions {
  readonly format?: ForeignFormat
  readonly segmentBytes?: number
  /** Told how many of the source's bytes are in the container. */
  readonly onProgress?: (bytes: number) => Effect.Effect<void>
}

/** What came of a migration. */
export interface Migrated {
  readonly location: StoreLayout.StoreLocation
  /**
   * `already`: the container was the active store before. `superseded`: the session has an active store that this file
   * is not, such as the file of a later rollback; nothing was done.
   */
  readonly outcome: "migrated" | "already" | "superseded"
  /** Without the session's header. */
  readonly entryCount: number
  readonly byteLength: number
  readonly correlationId: string | null
  /** Bytes that the source has more than what was migrated once; 0 unless somebody still writes to it. */
  readonly sourceGrewBy: number
  /** What was written to this file since it was migrated, or since it was the active store. */
  readonly sourceChanged: SourceChange
}

/** How to roll back. */
export interface RollbackOptions {
  /** What to go back to; by default what the container was migrated from. */
  readonly format?: ForeignFormat
  /** Why, for the ledger. */
  readonly reason?: string
}

/** What came of a rollback. */
export interface RolledBack {
  /** Absolute path of the store that is active now. */
  readonly path: string
  readonly format: ForeignFormat
  /** False when the source held everything, so that it could be gone back to. */
  readonly exported: boolean
  /** What was written since to the file that was migrated; it is left as it is, and is not in the store active now. */
  readonly sourceChanged: SourceChange
  /** Without the session's header. */
  readonly entryCount: number
  readonly correlationId: string
}

/** Why a session was not migrated. */
export type MigrateError =
  | MigrationRefused
  | VerificationFailed
  | EntryRefused
  | StoreReader.ReadError
  | StoreLocked
  | StoreFailed
  | StoreNotFound
  | MarkerLost

/** Why a container was not left. */
export type RollbackError = Exclude<MigrateError, MigrationRefused | MarkerLost> | StoreNotActive

/** Moves sessions into containers and out of them. */
export class StoreMigration extends Context.Service<
  StoreMigration,
  {
    /** Migrates the session at `path` (absolute), a JSONL file unless told otherwise. */
    readonly migrate: (path: string, options?: MigrateOptions) => Effect.Effect<Migrated, MigrateError>
    /** Leaves a container for a file of an earlier format; again, where the file that it was left for is gone. */
    readonly rollback: (
      location: StoreLayout.StoreLocation,
      options?: RollbackOptions
    ) => Effect.Effect<RolledBack, RollbackError>
    /**
     * What was written to the file that the session was last migrated from, since then; "gone" where there is none. Reads
     * the file and takes no lock.
     */
    readonly sourceChange: (location: StoreLayout.StoreLocation) => Effect.Effect<SourceChange | "gone", StoreIoError>
    /** The events of a session's ledger, in order. */
    readonly ledger: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<ReadonlyArray<MigrationEvent.MigrationEvent>, StoreIoError>
  }
>()("@pi-sessions/store/StoreMigration") {
  static readonly layer = Layer.effect(
    StoreMigration,
    Effect.suspend(() => make)
  )
}

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

const make = Effect.gen(function* () {
  const path = yield* Path.Path
  const lock = yield* StoreLock
  const services = yield* Effect.map(Effect.context<Needs>(), Context.pick(Sqlite, FileSystem.FileSystem, Path.Path))
  const provided = Effect.provideContext(services)

  const migrate = Effect.fn("StoreMigration.migrate")(function* (
    source: string,
    options: MigrateOptions = {}
  ): Effect.fn.Return<Migrated, MigrateError, Needs> {
    const format = options.format ?? "jsonl_v3"
    const found = yield* inspect(path.basename(source), format, readBytes(format, source))
    const location = { directory: path.dirname(source), sessionId: found.sessionId }
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const isSafe = StoreLayout.isSafeId(found.sessionId)
        // Where there is no store yet, a refusal leaves nothing behind, not even a lock file.
        if (found.findings.length > 0 && (!isSafe || (yield* readActive(location)) === undefined)) {
          return yield* refused(source, found.findings)
        }
        if (isSafe) {
          yield* lock.acquire(StoreLayout.names(path, location).lock)
          const active = yield* Cutover.reconcile(location)
          if (active?.active === "native_v2") return yield* alreadyMigrated(location, source, found.snapshot)
          if (active !== undefined && active.path !== found.snapshot.path) {
            return yield* superseded(location, source, found.entryCount, found.snapshot)
          }
        }
        if (found.findings.length > 0) return yield* refused(source, found.findings)
        if ((yield* readActive(location)) === undefined) yield* Unmarked.mustBeFree(location)
        return yield* build(location, source, format, found, options)
      })
    )
  }, provided)

  const build = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    file: string,
    format: ForeignFormat,
    found: Inspected,
    options: MigrateOptions
  ): Effect.fn.Return<Migrated, MigrateError, Needs> {
    const names = StoreLayout.names(path, location)
    const correlation_id = yield* newCorrelationId(location, found.snapshot)
    const source = found.snapshot
    const target = { ...source, format: "native_v2" as const, path: path.basename(names.container) }
    const event = { session_id: location.sessionId, correlation_id, source, target, entry_count: found.entryCount }
    const staged = yield* Staging.begin(location, {
      correlationId: correlation_id,
      source,
      state: "MIGRATION_STAGING",
      planned: { ...event, phase: "planned", outcome: "ok" }
    })
    yield* Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* StoreWriter.open(staged, location.sessionId, options)
        yield* fill(writer, readBytes(format, file), found.exceptions, options.onProgress)
        yield* writer.completeStaging()
      })
    )
    yield* MigrationLedger.append(staged, [{ ...event, phase: "staged", outcome: "ok" }])
    const checked = yield* check(staged, found)
    const verified = { ...event, ...checked.head, verification: checked.verification }
    if (checked.reason !== undefined) {
      yield* MigrationLedger.append(staged, [
        { ...verified, phase: "aborted", outcome: "failed", reason: checked.reason }
      ])
      return yield* new VerificationFailed({ path: staged.container, reason: checked.reason })
    }
    yield* MigrationLedger.append(staged, [{ ...verified, phase: "verified", outcome: "ok" }])
    const layout = yield* Staging.place(location, staged)
    // The commit: manifest pointer and active store marker in one rename.
    yield* moveActive(location, { active: "native_v2", path: target.path, correlation_id })
    // Finalization: what was verified must still be what the source holds.
    const now = yield* snapshotOf(format, source.path, readBytes(format, file))
    if (now.snapshot_id !== source.snapshot_id) {
      yield* Cutover.reconcile(location)
      return yield* new VerificationFailed({ path: file, reason: "the source was written to during the migration" })
    }
    const manifest = yield* readManifest(layout)
    yield* writeManifest(layout, yield* stepped(manifest, "MIGRATED").pipe(Effect.orDie))
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

  const alreadyMigrated = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    file: string,
    now: Snapshot
  ): Effect.fn.Return<Migrated, MigrateError, Needs> {
    const layout = StoreLayout.of(path, StoreLayout.names(path, location).container)
    const { source, correlation_id } = yield* soundManifest(location, layout)
    const entryCount = yield* Effect.scoped(Effect.map(StoreReader.open(layout), (reader) => reader.entryCount))
    if (source?.path !== now.path) return yield* superseded(location, file, entryCount, now)
    return {
      location,
      outcome: "already",
      entryCount,
      byteLength: source.byte_length,
      correlationId: correlation_id,
      sourceGrewBy: Math.max(0, now.byte_length - source.byte_length),
      sourceChanged: yield* changeSince(file, now, source)
    }
  })

  /** The manifest; one that is damaged is made again by recovery, as any opening for writing does. */
  const soundManifest = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    layout: StoreLayout.StoreLayout
  ): Effect.fn.Return<Manifest.Manifest, StoreIoError | StoreDamaged | StoreFailed, Needs> {
    return yield* readManifest(layout).pipe(
      Effect.catchTag("StoreDamaged", () =>
        Effect.andThen(Effect.scoped(StoreWriter.open(layout, location.sessionId)), readManifest(layout))
      )
    )
  })

  /** A file that is not the active store, held against what the ledger last tells of it, or else of the session. */
  const superseded = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    file: string,
    entryCount: number,
    now: Snapshot
  ): Effect.fn.Return<Migrated, StoreIoError, Needs> {
    const before = yield* lastTold(location, now.path)
    const sourceChanged = before === undefined ? "no" : yield* changeSince(file, now, before)
    return {
      location,
      outcome: "superseded",
      entryCount,
      byteLength: now.byte_length,
      correlationId: null,
      sourceGrewBy: before !== undefined && sourceChanged === "grown" ? now.byte_length - before.byte_length : 0,
      sourceChanged
    }
  })

  const rollback = Effect.fn("StoreMigration.rollback")(function* (
    location: StoreLayout.StoreLocation,
    options: RollbackOptions = {}
  ): Effect.fn.Return<RolledBack, RollbackError, Needs> {
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const names = StoreLayout.names(path, location)
        const layout = StoreLayout.of(path, names.container)
        if ((yield* readActive(location)) === undefined) return yield* new StoreNotFound({ path: names.container })
        yield* lock.acquire(names.lock)
        // A cutover that cannot be undone by itself can be by a person who asks for it: that is what this is.
        const active = yield* Cutover.reconcile(location).pipe(
          Effect.catchTag("StoreFailed", () => readActive(location))
        )
        yield* mustBeLeft(location, active)
        // Recovery makes a damaged manifest again.
        const state = yield* readManifest(layout).pipe(
          Effect.map((manifest) => manifest.state),
          Effect.catchTag("StoreDamaged", () => Effect.succeed(undefined))
        )
        if (state !== "FAILED") {
          yield* Effect.scoped(
            Effect.flatMap(StoreWriter.open(layout, location.sessionId), (writer) => checkpointed(writer, layout))
          )
        }
        return yield* leave(location, layout, options)
      })
    )
  }, provided)

  /** A checkpoint; where damage is in its way, everything is looked at before that is said. */
  const checkpointed = Effect.fnUntraced(function* (
    writer: StoreWriter.StoreWriter,
    layout: StoreLayout.StoreLayout
  ): Effect.fn.Return<void, RollbackError, Needs> {
    yield* writer
      .checkpoint()
      .pipe(Effect.catchTag("StoreDamaged", (error) => Effect.andThen(soundReport(layout), Effect.fail(error))))
  })

  const soundReport = Effect.fnUntraced(function* (
    layout: StoreLayout.StoreLayout
  ): Effect.fn.Return<StoreVerify.VerifyReport, VerificationFailed | StoreIoError, Needs> {
    const report = yield* StoreVerify.verify(layout)
    if (report.hashChainMatch && report.head !== undefined) return report
    const [first] = report.findings
    const reason = first === undefined ? "the container holds no session" : StoreVerify.format(first)
    return yield* new VerificationFailed({ path: layout.container, reason })
  })

  /** Makes a file that holds what the container holds, and makes it the active store. */
  const leave = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    layout: StoreLayout.StoreLayout,
    options: RollbackOptions
  ): Effect.fn.Return<RolledBack, RollbackError, Needs> {
    const manifest = yield* readManifest(layout)
    const report = yield* soundReport(layout)
    const format = options.format ?? (manifest.source?.format === "sqlite_v1" ? "sqlite_v1" : "jsonl_v3")
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const reader = yield* StoreReader.open(layout)
        const held = yield* snapshotOf(
          "native_v2",
          path.basename(layout.container),
          Stream.flattenIterable(reader.payloads)
        )
        const change = yield* changeOf(location, manifest.source)
        const { source: migrated } = manifest
        const holdsAll = change === "no" && migrated?.format === format && migrated.snapshot_id === held.snapshot_id
        const source = holdsAll ? migrated.path : undefined
        const correlation_id = manifest.correlation_id ?? (yield* newCorrelationId(location, held))
        const name = source ?? (yield* freeName(location, manifest.source, format))
        const file = path.resolve(location.directory, name)
        const target = { ...held, format, path: name }
        const event = {
          session_id: location.sessionId,
          correlation_id,
          source: held,
          target,
          entry_count: report.entryCount,
          head_entry_id: report.head?.entry_id ?? null,
          chain_hash: report.head?.chain_hash ?? null,
          reason: options.reason ?? "asked for"
        }
        yield* MigrationLedger.append(layout, [{ ...event, phase: "rollback_planned", outcome: "ok" }])
        if (source === undefined) yield* writeBytes(format, file, reader.payloads)
        const written = yield* snapshotOf(format, name, readBytes(format, file))
        if (written.snapshot_id !== held.snapshot_id) {
          const reason = `${file} does not hold what was written to it`
          yield* MigrationLedger.append(layout, [{ ...event, phase: "rolled_back", outcome: "failed", reason }])
          return yield* new VerificationFailed({ path: file, reason })
        }
        yield* moveActive(location, { active: format, path: name, correlation_id })
        const now = yield* readManifest(layout)
        yield* writeManifest(layout, yield* stepped(now, "ROLLED_BACK").pipe(Effect.orDie))
        yield* MigrationLedger.append(layout, [{ ...event, phase: "rolled_back", outcome: "ok" }])
        return {
          path: file,
          format,
          exported: source === undefined,
          sourceChanged: change === "gone" ? "no" : change,
          entryCount: report.entryCount,
          correlationId: correlation_id
        }
      })
    )
  })

  /** A name beside the source that is free. */
  const freeName = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    source: Snapshot | null,
    format: ForeignFormat
  ): Effect.fn.Return<string, StoreIoError, Needs> {
    const extension = format === "sqlite_v1" ? ".sqlite" : ".jsonl"
    const stem = source === null ? location.sessionId : source.path.replace(/(\.rollback-[0-9]+)?\.[a-z0-9]+$/, "")
    for (let n = 1; ; n++) {
      const name = `${stem}.rollback-${n}${extension}`
      if (Option.isNone(yield* sizeOf(path.join(location.directory, name)))) return name
    }
  })

  /** A container that is the active store, or whose session has none: the file that it was left for is gone. */
  const mustBeLeft = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    active: ActiveStore | undefined
  ): Effect.fn.Return<void, StoreIoError | StoreFailed | StoreNotFound | StoreNotActive, Needs> {
    const { container } = StoreLayout.names(path, location)
    if (active === undefined) return yield* new StoreNotFound({ path: container })
    if (active.active === "native_v2") return
    const activePath = Cutover.activeFile(path, location, active)
    if (Option.isSome(yield* sizeOf(activePath))) {
      return yield* new StoreNotActive({ path: container, active: active.active, activePath })
    }
    if (Option.isSome(yield* sizeOf(container))) return
    const reason = `the session was rolled back to ${activePath}, which is missing, and so is the container`
    return yield* new StoreFailed({ path: container, reason })
  })

  const ledger = (location: StoreLayout.StoreLocation) =>
    provided(
      Effect.map(
        MigrationLedger.read(StoreLayout.of(path, StoreLayout.names(path, location).container)),
        (ledger) => ledger.events
      )
    )

  const sourceChange = Effect.fn("StoreMigration.sourceChange")(function* (location: StoreLayout.StoreLocation) {
    const events = yield* ledger(location)
    const migrated = events.findLast(({ phase }) => phase === "completed")
    return yield* changeOf(location, migrated?.source ?? null)
  }, provided)

  return StoreMigration.of({ migrate, rollback, ledger, sourceChange })
})

const refused = (path: string, findings: ReadonlyArray<SourceFinding>) =>
  Effect.fail(new MigrationRefused({ path, findings }))

/** Names a migration: from the session, its source and the time, so that two attempts have two names. */
const newCorrelationId = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation, source: Snapshot) {
  const now = yield* Clock.currentTimeMillis
  return `migration-${hash("sha256", `${location.sessionId} ${source.snapshot_id} ${now}`, "hex").slice(0, 16)}`
})
