/** The answer to a migration of a session that has an active store already. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { type StoreIoError } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import * as StoreReader from "../StoreReader.ts"
import * as StoreWriter from "../StoreWriter.ts"
import { readManifest } from "../files/manifestFile.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { type MigrateError, type Migrated } from "./outcome.ts"
import { changeSince, lastRecorded } from "./sourceChange.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

/** The container is the active store; `now` is what the migrated file holds. */
export const alreadyMigrated = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  file: string,
  now: Snapshot
): Effect.fn.Return<Migrated, MigrateError, Needs> {
  const layout = StoreLayout.ofLocation(yield* Path.Path, location)
  const { source, correlation_id } = yield* readManifest(layout).pipe(
    // Opening for writing rebuilds a damaged manifest.
    Effect.catchTag("StoreDamaged", () =>
      Effect.andThen(Effect.scoped(StoreWriter.open(layout, location.sessionId)), readManifest(layout))
    )
  )
  const entryCount = yield* Effect.scoped(Effect.map(StoreReader.open(layout), (reader) => reader.entryCount))
  if (source?.path !== now.path) return yield* superseded(location, file, now, entryCount)
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

/** The file is not the active store; it is compared with its last record in the ledger, or else with the session's. */
export const superseded = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  file: string,
  now: Snapshot,
  entryCount: number
): Effect.fn.Return<Migrated, StoreIoError, Needs> {
  const before = yield* lastRecorded(location, now.path)
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
