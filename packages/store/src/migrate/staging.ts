/** Building a container beside its place, and putting it there. Only under the writer's lock. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Manifest from "../wire/Manifest.ts"
import type * as MigrationEvent from "../wire/MigrationEvent.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { type StoreIoError, fromPlatform } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { listNames, makeDirectory, renameDurably, sizeOf, syncDirectory } from "../files/durable.ts"
import { nowInstant, readManifest, writeManifest } from "../files/manifestFile.ts"

type Needs = FileSystem.FileSystem | Path.Path

/** Where the contents of a new container come from. */
export interface Origin {
  readonly correlationId: string | null
  readonly source: Snapshot | null
  /** `CLEAN` for a session that is created, `MIGRATION_STAGING` for one that is migrated. */
  readonly state: "CLEAN" | "MIGRATION_STAGING"
  /** The first event of this container's own. */
  readonly planned?: MigrationLedger.EventInput
}

/** Numbers of the directories named `prefix` and a number, ascending. */
const numbersOf = Effect.fnUntraced(function* (prefix: string) {
  const path = yield* Path.Path
  const base = path.basename(prefix)
  return (yield* listNames(path.dirname(prefix)))
    .filter((name) => name.startsWith(base) && /^[1-9][0-9]*$/.test(name.slice(base.length)))
    .map((name) => Number(name.slice(base.length)))
    .toSorted((a, b) => a - b)
})

/**
 * Starts a container: its directories, a ledger that carries over what earlier containers of the session tell, its
 * manifest. Containers that were started and never became active hold nothing that is not elsewhere; they are removed
 * once their events are carried over. Only where the container in the place of the session's is not its active store.
 */
export const begin = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  origin: Origin
): Effect.fn.Return<StoreLayout.StoreLayout, StoreIoError, Needs> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = StoreLayout.names(path, location)
  if (yield* isAbandoned(StoreLayout.of(path, names.container), origin)) {
    yield* renameDurably(names.container, `${names.staging}${((yield* numbersOf(names.staging)).at(-1) ?? 0) + 1}`)
  }
  const abandoned = (yield* numbersOf(names.staging)).map((n) => `${names.staging}${n}`)
  const layout = StoreLayout.of(path, `${names.staging}${((yield* numbersOf(names.staging)).at(-1) ?? 0) + 1}`)
  for (const directory of [
    layout.container,
    layout.segments,
    layout.index,
    layout.checkpoints,
    layout.migrations,
    layout.tmp
  ]) {
    yield* makeDirectory(directory)
  }
  const events: Array<MigrationEvent.MigrationEvent> = []
  const known = new Set<string>()
  // After a store was moved aside, its ledger goes on in the one that takes its place.
  const isThere = Option.isSome(yield* sizeOf(names.container))
  const retired = isThere ? [] : (yield* numbersOf(names.retired)).slice(-1).map((n) => `${names.retired}${n}`)
  for (const container of [names.container, ...retired, ...abandoned]) {
    for (const event of (yield* MigrationLedger.read(StoreLayout.of(path, container))).events) {
      const key = JSON.stringify(event)
      if (!known.has(key)) events.push(event)
      known.add(key)
    }
  }
  yield* MigrationLedger.append(layout, origin.planned === undefined ? events : [...events, origin.planned])
  const at = yield* nowInstant
  yield* writeManifest(layout, {
    schema: Manifest.SCHEMA_ID,
    session_id: location.sessionId,
    revision: 1,
    state: origin.state,
    created_at: at,
    updated_at: at,
    head: null,
    entry_count: 0,
    segments: [],
    index: { byte_length: 0, row_count: 0 },
    checkpoint_seq: null,
    correlation_id: origin.correlationId,
    source: origin.source
  })
  for (const directory of abandoned) {
    yield* fs.remove(directory, { recursive: true }).pipe(Effect.mapError(fromPlatform(directory, "remove")))
  }
  return layout
})

/** Whether a container was put in its place and never became active, and holds what the source of this one holds. */
const isAbandoned = Effect.fnUntraced(function* (layout: StoreLayout.StoreLayout, { source }: Origin) {
  const manifest = yield* readManifest(layout).pipe(Effect.catchTag("StoreDamaged", () => Effect.succeed(undefined)))
  return (
    manifest?.state === "MIGRATION_STAGING" && source !== null && manifest.source?.snapshot_id === source.snapshot_id
  )
})

/** A free name for a container that is moved aside. */
export const retiredName = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<string, StoreIoError, Needs> {
  const { retired } = StoreLayout.names(yield* Path.Path, location)
  return `${retired}${((yield* numbersOf(retired)).at(-1) ?? 0) + 1}`
})

/** The marker of a container that is moved aside, which goes first. */
export const retiredMarker = (container: string): string => `${container}.active.json`

/** Moves a finished container to its place; one that is there, and is not the active store, is moved aside. */
export const place = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  staged: StoreLayout.StoreLayout
): Effect.fn.Return<StoreLayout.StoreLayout, StoreIoError, Needs> {
  const path = yield* Path.Path
  const names = StoreLayout.names(path, location)
  if (Option.isSome(yield* sizeOf(names.container))) {
    yield* renameDurably(names.container, yield* retiredName(location))
  }
  yield* renameDurably(staged.container, names.container)
  yield* syncDirectory(location.directory)
  return StoreLayout.of(path, names.container)
})
