/** Lists each session once: as its container where that is the active store, else as the file that its marker names. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { stringAt } from "@pi-sessions/core/Json"
import { type SessionListing, type SessionRef, type SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as ActiveElsewhere from "./activeElsewhere.ts"
import { containerRef, locationOf, superseded } from "./containers.ts"
import { databasesBelow } from "./databasesBelow.ts"
import { fileRef } from "./fileRef.ts"

/** Facts from containers about the sessions of a listing. */
interface Containers {
  /** Containers that are active stores. */
  readonly sessions: ReadonlyArray<SessionRef>
  readonly skipped: SessionListing["skipped"]
  /** Files whose sessions have another active store now. */
  readonly superseded: ReadonlySet<string>
  /** The active stores that markers name. */
  readonly active: ReadonlyArray<ActiveElsewhere.ActiveAt>
}

const readContainers = Effect.fnUntraced(function* (containers: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const sessions: Array<SessionRef> = []
  const skipped: Array<SessionListing["skipped"][number]> = []
  const old = new Set<string>()
  const active: Array<ActiveElsewhere.ActiveAt> = []
  for (const container of new Set(containers)) {
    const ref = yield* Effect.result(containerRef(container))
    if (Result.isFailure(ref)) skipped.push({ path: ref.failure.path, reason: ref.failure.reason })
    else if (ref.success !== undefined) sessions.push(ref.success)
    for (const file of yield* superseded(container)) old.add(file)
    const location = locationOf(path, container)
    const store = location === undefined ? undefined : yield* ActiveElsewhere.of(location)
    if (store !== undefined) active.push(store)
  }
  return { sessions, skipped, superseded: old, active } satisfies Containers
})

/**
 * Lists the sessions of `given` paths. `files` lists session files; `header` reads any session's header; the paths of
 * databases that have another extension are added to `databases`.
 */
export const list = Effect.fn("StoreSource.list")(function* (
  given: ReadonlyArray<string>,
  files: SessionSource["Service"],
  header: SessionSource["Service"]["header"],
  databases: Set<string>
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const isContainer = (at: string) => locationOf(path, at) !== undefined
  const listing = yield* files.list
  const named = given.filter(isContainer).map((at) => path.resolve(at))
  const containers = yield* readContainers([...named, ...listing.containers])
  const below = yield* databasesBelow(given.filter((at) => !isContainer(at)))
  const inFiles = new Map([...listing.sessions, ...below].map((ref) => [ref.path, ref]))
  for (const { format, path: at } of containers.active) {
    if (format === "native_v2" || inFiles.has(at)) continue
    if (format === "sqlite_v1") databases.add(at)
    const info = yield* Effect.option(fs.stat(at))
    if (Option.isSome(info)) inFiles.set(at, fileRef(at, info.value))
  }
  const isElsewhere = ActiveElsewhere.among(containers.active)
  const sessions = [...containers.sessions]
  for (const session of inFiles.values()) {
    if (containers.superseded.has(session.path)) continue
    const id = header(session).pipe(
      Effect.map((line) => stringAt(line.decode(), "id")),
      Effect.orElseSucceed(() => undefined)
    )
    if (!(yield* isElsewhere(path.dirname(session.path), session.path, id))) sessions.push(session)
  }
  return {
    sessions: sessions.sort((a, b) => (a.path < b.path ? -1 : 1)),
    containers: listing.containers,
    skipped: [...listing.skipped, ...containers.skipped]
  } satisfies SessionListing
})
