/**
 * The V2 layer of SessionTarget: writes sessions into containers, by the rules that the V1 layers have for files. A
 * container that holds the beginning is extended, one that is ahead is kept, one that went another way is refused, and
 * with `force` it is moved aside.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { stringAt } from "@pi-sessions/core/Json"
import { NotASession, SessionFileError, TargetDiverged } from "@pi-sessions/session-file/SessionFileError"
import { SessionTarget, type Written } from "@pi-sessions/session-file/SessionTarget"
import { type HeaderLine, type SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionStore } from "./SessionStore.ts"
import * as StoreLayout from "./StoreLayout.ts"

/** Containers in `directory`, named after their session. */
export const layerDirectory = (directory: string) =>
  Layer.effect(
    SessionTarget,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const store = yield* SessionStore

      const write: SessionTarget["Service"]["write"] = Effect.fn("StoreTarget.write")(function* (
        session,
        options = {}
      ) {
        const header = session.header
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
        const why = notStorable(location.sessionId, entries)
        if (why !== undefined) return yield* new SessionFileError({ path: container, operation: "write", reason: why })
        yield* fs.makeDirectory(location.directory, { recursive: true })
        if ((yield* store.active(location)) === undefined) {
          const writer = yield* store.create(location.directory, header)
          yield* writer.appendAll(entries)
          return { path: container, outcome: "created" } satisfies Written
        }
        const same = yield* Effect.scoped(
          Effect.gen(function* () {
            const reader = yield* store.reader(location)
            if (reader.header.text !== header.text) return -1
            const there = (yield* reader.session).tree.getEntries()
            const shared = Math.min(there.length, entries.length)
            for (let i = 0; i < shared; i++) if (there[i]?.text !== entries[i]?.text) return -1
            return there.length
          })
        )
        if (same < 0) {
          if (!force) return yield* new TargetDiverged({ path: container, why: "diverged", line: 1, byteOffset: 0 })
          const movedAside = yield* store.retire(location)
          const writer = yield* store.create(location.directory, header)
          yield* writer.appendAll(entries)
          return { path: container, outcome: "replaced", movedAside } satisfies Written
        }
        if (same >= entries.length) {
          return { path: container, outcome: same === entries.length ? "unchanged" : "ahead" } satisfies Written
        }
        const writer = yield* store.writer(location)
        yield* writer.appendAll(entries.slice(same))
        return { path: container, outcome: "extended" } satisfies Written
      })

      return SessionTarget.of({ write })
    })
  )

/** Why these entries cannot be a store's: found before anything is made or moved aside. Undefined when they can. */
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
