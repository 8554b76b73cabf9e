/** The sessions that are open, each until a minute after its last use. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import { ViewFailed, type ViewNotFound } from "../ViewError.ts"
import { type ListedSessions } from "./ListedSessions.ts"
import { type ViewedSession, open } from "./ViewedSession.ts"

export interface OpenSessions {
  /** Opens the session if necessary, and keeps it open during `answer`. */
  readonly use: <A>(key: string, answer: (session: ViewedSession) => A) => Effect.Effect<A, ViewNotFound | ViewFailed>
  /** Closes the session if its file has changed since it was opened. */
  readonly refresh: (key: string) => Effect.Effect<void, ViewNotFound>
}

export const make = Effect.fnUntraced(function* (
  listed: ListedSessions
): Effect.fn.Return<OpenSessions, never, FileSystem.FileSystem | SessionSource | Scope.Scope> {
  const services = yield* Effect.context<FileSystem.FileSystem | SessionSource>()
  /** The states of the files when they were opened. */
  const states = new Map<string, string | undefined>()
  const sessions = yield* RcMap.make({
    lookup: (key: string) =>
      Effect.gen(function* () {
        const ref = yield* listed.get(key)
        states.set(key, yield* stateOf(ref))
        return yield* Effect.mapError(open(ref, listed.redactor), listed.failedFor(ref))
      }).pipe(
        Effect.provideContext(services),
        Effect.catchDefect((defect) => Effect.fail(listed.failed()({ message: String(defect) })))
      ),
    idleTimeToLive: "1 minute"
  })
  return {
    use: (key, answer) =>
      Effect.scoped(
        Effect.flatMap(RcMap.get(sessions, key), (session) =>
          Effect.try({
            try: () => answer(session),
            // The file was truncated or rewritten while open, or a value overflows the stack.
            catch: () => new ViewFailed({ message: "the file changed while it was open; open the session again" })
          })
        )
      ),
    refresh: Effect.fnUntraced(function* (key) {
      const state = yield* stateOf(yield* listed.get(key))
      if (state === undefined || state !== states.get(key)) yield* RcMap.invalidate(sessions, key)
    }, Effect.provideContext(services))
  }
})

/** Differs if the session's file has changed; undefined if that cannot be known. */
const stateOf = Effect.fnUntraced(function* (ref: CatalogSession) {
  if (ref.format !== "jsonl") return undefined
  const fs = yield* FileSystem.FileSystem
  return yield* fs.stat(ref.path).pipe(
    Effect.map(({ ino, mtime, size }) => `${size} ${String(ino)} ${String(mtime)}`),
    Effect.orElseSucceed(() => undefined)
  )
})
