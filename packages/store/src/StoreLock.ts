/** The writer's lock. It is a kernel lock, which ends with its process, so there are no stale locks and no waiting. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { StoreIoError, StoreLocked } from "./StoreError.ts"

export class StoreLock extends Context.Service<
  StoreLock,
  {
    /** Holds the lock file at `path` until the scope closes. Fails at once when another writer holds it. */
    readonly acquire: (path: string) => Effect.Effect<void, StoreLocked | StoreIoError, Scope.Scope>
  }
>()("@pi-sessions/store/StoreLock") {
  /** Locks the file through SQLite, because Node has no flock. */
  static readonly layer = Layer.effect(
    StoreLock,
    Effect.gen(function* () {
      const sqlite = yield* Sqlite
      const fs = yield* FileSystem.FileSystem
      const acquire = Effect.fn("StoreLock.acquire")(function* (
        path: string
      ): Effect.fn.Return<void, StoreLocked | StoreIoError, Scope.Scope> {
        // Only for messages: names the holder.
        const note = `${path}.holder`
        yield* sqlite.lock(path).pipe(
          Effect.catchTag("SqliteError", (error): Effect.Effect<never, StoreLocked | StoreIoError> =>
            error.isBusy
              ? fs.readFileString(note).pipe(
                  Effect.orElseSucceed(() => "another program"),
                  Effect.flatMap((holder) => Effect.fail(new StoreLocked({ path, holder: holder.trim() })))
                )
              : Effect.fail(new StoreIoError({ path, operation: "lock", reason: error.reason }))
          )
        )
        const now = new Date(yield* Clock.currentTimeMillis).toISOString()
        const program = process.argv[1]?.split(/[/\\]/).at(-1) ?? process.title
        yield* Effect.acquireRelease(
          Effect.ignore(fs.writeFileString(note, `process ${process.pid} (${program}), since ${now}\n`)),
          () => Effect.ignore(fs.remove(note, { force: true }))
        )
      })
      return StoreLock.of({ acquire })
    })
  )

  /** Locks among the writers of one process, for file systems in memory. */
  static readonly layerInProcess = Layer.sync(StoreLock, () => {
    const held = new Set<string>()
    return StoreLock.of({
      acquire: (path) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.suspend(() =>
              held.has(path)
                ? Effect.fail(new StoreLocked({ path, holder: "this process" }))
                : Effect.sync(() => held.add(path))
            ),
            () => Effect.sync(() => held.delete(path))
          )
        )
    })
  })
}
