/** Starts a container under a staging name, and moves it to its place. Requires the writer's lock. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as MigrationEvent from "../wire/MigrationEvent.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { type StoreIoError, fromPlatform } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { listNames, makeDirectory, renameDurably, sizeOf, syncDirectory } from "../files/durable.ts"
import { newManifest, readSoundManifest, writeManifest } from "../files/manifestFile.ts"

type Needs = FileSystem.FileSystem | Path.Path

/** Origin of a new container's contents. */
export interface Origin {
  readonly correlationId: string | null
  readonly source: Snapshot | null
  /** `CLEAN` for a new session, `MIGRATION_STAGING` for a migrated one. */
  readonly state: "CLEAN" | "MIGRATION_STAGING"
  /** First event of this migration. */
  readonly planned?: MigrationLedger.EventInput
}

/** Numbers that follow `prefix` in names of directories, ascending. */
const numbersOf = Effect.fnUntraced(function* (prefix: string) {
  const path = yield* Path.Path
  const base = path.basename(prefix)
  return (yield* listNames(path.dirname(prefix)))
    .filter((name) => name.startsWith(base) && /^[1-9][0-9]*$/.test(name.slice(base.length)))
    .map((name) => Number(name.slice(base.length)))
    .toSorted((a, b) => a - b)
})

/**
 * Creates a container's directories, its ledger with the events of the session's earlier containers, and its manifest.
 * Containers that were started and never became active hold nothing of their own, and are removed after their events were
 * copied. The container that has the session's name must not be its active store.
 */
export const begin = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  origin: Origin
): Effect.fn.Return<StoreLayout.StoreLayout, StoreIoError, Needs> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = StoreLayout.names(path, location)
  if (yield* isAbandoned(StoreLayout.of(path, names.container), origin)) {
    yield* renameDurably(names.container, yield* freeName(names.staging))
  }
  const abandoned = (yield* numbersOf(names.staging)).map((n) => `${names.staging}${n}`)
  const layout = StoreLayout.of(path, yield* freeName(names.staging))
  for (const directory of [layout.container, ...StoreLayout.directories(layout)]) yield* makeDirectory(directory)
  // The ledger of a store that was moved aside continues in its successor.
  const isThere = Option.isSome(yield* sizeOf(names.container))
  const retired = isThere ? [] : (yield* numbersOf(names.retired)).slice(-1).map((n) => `${names.retired}${n}`)
  const events = yield* eventsOf([names.container, ...retired, ...abandoned])
  yield* MigrationLedger.append(layout, origin.planned === undefined ? events : [...events, origin.planned])
  yield* writeManifest(
    layout,
    yield* newManifest(location.sessionId, {
      state: origin.state,
      correlation_id: origin.correlationId,
      source: origin.source
    })
  )
  for (const directory of abandoned) {
    yield* fs.remove(directory, { recursive: true }).pipe(Effect.mapError(fromPlatform(directory, "remove")))
  }
  return layout
})

/** The different events of containers, in order. */
const eventsOf = Effect.fnUntraced(function* (containers: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const events = new Map<string, MigrationEvent.MigrationEvent>()
  for (const container of containers) {
    for (const event of (yield* MigrationLedger.read(StoreLayout.of(path, container))).events) {
      const key = JSON.stringify(event)
      if (!events.has(key)) events.set(key, event)
    }
  }
  return [...events.values()]
})

/** Whether a container was moved to its place, never became active, and has the same source as this one. */
const isAbandoned = Effect.fnUntraced(function* (layout: StoreLayout.StoreLayout, { source }: Origin) {
  const manifest = yield* readSoundManifest(layout)
  return (
    manifest?.state === "MIGRATION_STAGING" && source !== null && manifest.source?.snapshot_id === source.snapshot_id
  )
})

const freeName = (prefix: string) => Effect.map(numbersOf(prefix), (numbers) => `${prefix}${(numbers.at(-1) ?? 0) + 1}`)

/** A free name for a container that is moved aside. */
export const retiredName = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<string, StoreIoError, Needs> {
  return yield* freeName(StoreLayout.names(yield* Path.Path, location).retired)
})

/** Name of the marker of a container that is moved aside. The marker is moved before the container. */
export const retiredMarker = (container: string): string => `${container}.active.json`

/** Moves a finished container to its place. An inactive container that has the name is moved aside. */
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
