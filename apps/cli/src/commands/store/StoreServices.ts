/** The services of the store over the disk, and what its commands share. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"

export const layer = Layer.mergeAll(SessionStore.layer, StoreMigration.layer).pipe(
  Layer.provide(StoreLock.layer),
  Layer.provideMerge(Sqlite.layer)
)

/** Why the work on one session could not be done. */
export interface Failure {
  /** The tag of the error. */
  readonly why: string
  readonly message: string
}

/** Work on one of many: whatever goes wrong with it, the others go on. */
export const attempt = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Result.Result<A, Failure>, never, R> =>
  effect.pipe(
    Effect.mapError((error): Failure => ({ why: error._tag, message: error.message })),
    Effect.catchDefect((defect) => Effect.fail<Failure>({ why: "Defect", message: String(defect) })),
    Effect.result
  )

/** `1 store`, `2 stores` */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`
