/** The services of the store's commands, and work on one of many sessions. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import * as StoredSessions from "../../StoredSessions.ts"

export const layer = StoreMigration.layer.pipe(Layer.provideMerge(StoredSessions.layerStore))

/** Why the work on one session failed. */
export interface Failure {
  /** The tag of the error. */
  readonly why: string
  readonly message: string
}

/** Work on one of many sessions: if it fails, the work on the others goes on. */
export const attempt = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Result.Result<A, Failure>, never, R> =>
  effect.pipe(
    Effect.mapError((error): Failure => ({ why: error._tag, message: error.message })),
    Effect.catchDefect((defect) => Effect.fail<Failure>({ why: "Defect", message: String(defect) })),
    Effect.result
  )
