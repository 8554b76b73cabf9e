/** Changes of a file after a container took its place. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import * as MigrationLedger from "../MigrationLedger.ts"
import { type StoreIoError } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { sizeOf } from "../files/durable.ts"
import { isForeign, readBytes, snapshotOf } from "./foreignStore.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

/** `grown`: bytes were appended to those migrated. `rewritten`: the migrated bytes changed, or are unreadable. */
export type SourceChange = "no" | "grown" | "rewritten"

/** Change of `file` from snapshot `before` to its current snapshot `now`. */
export const changeSince = Effect.fnUntraced(function* (
  file: string,
  now: Snapshot,
  before: Snapshot
): Effect.fn.Return<SourceChange, StoreIoError, Needs> {
  if (now.snapshot_id === before.snapshot_id) return "no"
  const { format } = now
  if (now.byte_length <= before.byte_length || !isForeign(format)) return "rewritten"
  const then = yield* snapshotOf(format, now.path, readBytes(format, file), before.byte_length)
  return then.snapshot_id === before.snapshot_id ? "grown" : "rewritten"
})

/** Change of the file that a container was migrated from. A file that cannot be read counts as rewritten. */
export const changeOf = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  source: Snapshot | null
): Effect.fn.Return<SourceChange | "gone", StoreIoError, Needs> {
  const path = yield* Path.Path
  if (source === null || !isForeign(source.format)) return "gone"
  const file = path.resolve(location.directory, source.path)
  if (Option.isNone(yield* sizeOf(file))) return "gone"
  return yield* snapshotOf(source.format, source.path, readBytes(source.format, file)).pipe(
    Effect.flatMap((now) => changeSince(file, now, source)),
    Effect.catchTag("StoreIoError", () => Effect.succeed("rewritten" as const))
  )
})

/** The last snapshot of a file in the ledger, or else the last one of any file; undefined when there is none. */
export const lastRecorded = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  name: string
): Effect.fn.Return<Snapshot | undefined, StoreIoError, Needs> {
  const { events } = yield* MigrationLedger.read(StoreLayout.ofLocation(yield* Path.Path, location))
  const snapshots = events
    .flatMap(({ source, target }) => [source, target])
    .flatMap((snapshot) => (snapshot !== null && isForeign(snapshot.format) ? [snapshot] : []))
  return snapshots.findLast((snapshot) => snapshot.path === name) ?? snapshots.at(-1)
})
