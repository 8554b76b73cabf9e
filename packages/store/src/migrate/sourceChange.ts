/** What became of a file since a container took its place. */
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

/**
 * `grown` behind the bytes that were migrated, or `rewritten` within them (or not to be read any more). A file that is
 * gone was not changed.
 */
export type SourceChange = "no" | "grown" | "rewritten"

/** What was written to `file` since `before`, when `now` is what it holds. */
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

/** What became of the file that a container was migrated from; a file that is damaged now is no obstacle. */
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

/** What the ledger last tells of a file, or else of the session; undefined when it tells nothing. */
export const lastTold = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  name: string
): Effect.fn.Return<Snapshot | undefined, StoreIoError, Needs> {
  const path = yield* Path.Path
  const { events } = yield* MigrationLedger.read(StoreLayout.of(path, StoreLayout.names(path, location).container))
  const told = events
    .flatMap(({ source, target }) => [source, target])
    .flatMap((snapshot) => (snapshot !== null && isForeign(snapshot.format) ? [snapshot] : []))
  return told.findLast((snapshot) => snapshot.path === name) ?? told.at(-1)
})
