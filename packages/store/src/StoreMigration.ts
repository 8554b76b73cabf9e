/**
 * Migration of a session into a container, and rollback out of it (docs/adr/003-session-store-v2.md).
 *
 * A migration never changes its source. It reads it three times: to inspect it, to build a container beside it, and after
 * the cutover, to see that it did not change meanwhile. The
 * container becomes the active store, by one rename, after it was read again and gave back the source's bytes. A rollback
 * writes every entry, later ones included, to a new file beside the unchanged source, or returns to the source when that
 * holds every entry, and makes that file the active store.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import * as MigrationLedger from "./MigrationLedger.ts"
import { type StoreIoError } from "./StoreError.ts"
import * as StoreLayout from "./StoreLayout.ts"
import { StoreLock } from "./StoreLock.ts"
import { migrate } from "./migrate/migrate.ts"
import {
  type MigrateError,
  type MigrateOptions,
  type Migrated,
  type RollbackError,
  type RollbackOptions,
  type RolledBack
} from "./migrate/outcome.ts"
import { rollback } from "./migrate/rollback.ts"
import { type SourceChange, changeOf } from "./migrate/sourceChange.ts"
import type * as MigrationEvent from "./wire/MigrationEvent.ts"

export type { MigrateError, MigrateOptions, Migrated, RollbackError, RollbackOptions, RolledBack, SourceChange }

/** Moves sessions into containers and out of them. */
export class StoreMigration extends Context.Service<
  StoreMigration,
  {
    /** Migrates the session in the file at `path` (absolute). */
    readonly migrate: (path: string, options?: MigrateOptions) => Effect.Effect<Migrated, MigrateError>
    /**
     * Leaves a container for a file of an earlier format. Also works for a container that was left before, when the file
     * that it was left for is missing.
     */
    readonly rollback: (
      location: StoreLayout.StoreLocation,
      options?: RollbackOptions
    ) => Effect.Effect<RolledBack, RollbackError>
    /**
     * Change of the file that the session was last migrated from, since that migration; "gone" when there is no such
     * file. Reads the file and takes no lock.
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

type Needs = StoreLock | Sqlite | FileSystem.FileSystem | Path.Path

const make = Effect.gen(function* () {
  const services = Context.pick(StoreLock, Sqlite, FileSystem.FileSystem, Path.Path)(yield* Effect.context<Needs>())
  const provided = Effect.provideContext(services)
  return StoreMigration.of({
    migrate: (path, options) => provided(migrate(path, options)),
    rollback: (location, options) => provided(rollback(location, options)),
    sourceChange: (location) => provided(sourceChange(location)),
    ledger: (location) => provided(ledger(location))
  })
})

const ledger = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation) {
  return (yield* MigrationLedger.read(StoreLayout.ofLocation(yield* Path.Path, location))).events
})

const sourceChange = Effect.fn("StoreMigration.sourceChange")(function* (location: StoreLayout.StoreLocation) {
  const migrated = (yield* ledger(location)).findLast(({ phase }) => phase === "completed")
  return yield* changeOf(location, migrated?.source ?? null)
})
