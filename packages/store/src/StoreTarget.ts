/**
 * The V2 layer of SessionTarget: writes sessions into containers by the rules that the V1 layers have for files. A
 * container that holds the session's beginning is extended, one with more entries is kept, and a different one is refused,
 * or moved aside with `force`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { stringAt } from "@pi-sessions/core/Json"
import { type Session } from "@pi-sessions/core/Session"
import { type HeaderLine, type SessionEntry } from "@pi-sessions/core/SessionLine"
import { NotASession, SessionFileError, TargetDiverged } from "@pi-sessions/session-file/SessionFileError"
import { SessionTarget, type Written } from "@pi-sessions/session-file/SessionTarget"
import { SessionStore } from "./SessionStore.ts"
import * as StoreLayout from "./StoreLayout.ts"

/** Containers in `directory`, named after their session. */
export const layerDirectory = (directory: string) =>
  Layer.effect(
    SessionTarget,
    Effect.gen(function* () {
      const services = Context.pick(SessionStore, FileSystem.FileSystem, Path.Path)(yield* Effect.context<Needs>())
      return SessionTarget.of({
        write: (session, options) => Effect.provideContext(write(directory, session, options), services)
      })
    })
  )

type Needs = SessionStore | FileSystem.FileSystem | Path.Path

const write = Effect.fn("StoreTarget.write")(function* (
  directory: string,
  session: Session,
  options: { readonly force?: boolean } = {}
): Effect.fn.Return<Written, NotASession | SessionFileError | TargetDiverged, Needs> {
  const path = yield* Path.Path
  const { header } = session
  const sessionId = header === undefined ? undefined : stringAt(header.decode(), "id")
  if (header === undefined || sessionId === undefined) {
    return yield* new NotASession({ path: "the session to write", line: 1, byteOffset: 0 })
  }
  const location = { directory: path.resolve(directory), sessionId }
  const { container } = StoreLayout.names(path, location)
  const entries = session.tree.getEntries().map((entry) => entry.standalone())
  return yield* Effect.scoped(put(location, container, header, entries, options.force === true)).pipe(
    Effect.mapError((error) =>
      error._tag === "TargetDiverged"
        ? error
        : new SessionFileError({ path: container, operation: "write", reason: error.message })
    )
  )
})

const put = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  container: string,
  header: HeaderLine,
  entries: ReadonlyArray<SessionEntry>,
  force: boolean
) {
  const fs = yield* FileSystem.FileSystem
  const store = yield* SessionStore
  const why = notStorable(location.sessionId, entries)
  if (why !== undefined) return yield* new SessionFileError({ path: container, operation: "write", reason: why })
  yield* fs.makeDirectory(location.directory, { recursive: true })
  if ((yield* store.active(location)) === undefined) {
    const writer = yield* store.create(location.directory, header)
    yield* writer.appendAll(entries)
    return { path: container, outcome: "created" } satisfies Written
  }
  const held = yield* entriesHeld(location, header, entries)
  if (held === undefined) {
    if (!force) return yield* new TargetDiverged({ path: container, why: "diverged", line: 1, byteOffset: 0 })
    const movedAside = yield* store.retire(location)
    const writer = yield* store.create(location.directory, header)
    yield* writer.appendAll(entries)
    return { path: container, outcome: "replaced", movedAside } satisfies Written
  }
  if (held >= entries.length) {
    return { path: container, outcome: held === entries.length ? "unchanged" : "ahead" } satisfies Written
  }
  const writer = yield* store.writer(location)
  yield* writer.appendAll(entries.slice(held))
  return { path: container, outcome: "extended" } satisfies Written
})

/** Number of entries in a store whose session begins as this one, or is its beginning; undefined for any other store. */
const entriesHeld = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  header: HeaderLine,
  entries: ReadonlyArray<SessionEntry>
) {
  const reader = yield* (yield* SessionStore).reader(location)
  if (reader.header.text !== header.text) return undefined
  const held = (yield* reader.session).tree.getEntries()
  const shared = Math.min(held.length, entries.length)
  for (let i = 0; i < shared; i++) if (held[i]?.text !== entries[i]?.text) return undefined
  return held.length
}, Effect.scoped)

/** Why a store cannot hold these entries; undefined when it can. Checked before anything is created or moved aside. */
const notStorable = (sessionId: string, entries: ReadonlyArray<SessionEntry>): string | undefined => {
  const ids = new Set<string>()
  for (const { id, parentId } of entries) {
    if (id === null || id === "") return "an entry has no id"
    if (id === sessionId || ids.has(id)) return `the id ${id} is used twice`
    if (parentId !== null && !ids.has(parentId)) return `the parent ${parentId} of entry ${id} is not before it`
    ids.add(id)
  }
  return undefined
}
