/**
 * Request contexts that the thread has not acknowledged. No session file holds them, so they wait as files, and in memory
 * when the disk is full.
 */
import * as Effect from "effect/Effect"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { type MirrorStore } from "./MirrorStore.ts"

/** Entries that wait in memory; older ones are dropped. */
const MAX_IN_MEMORY = 16

export class WaitingEntries {
  readonly #store: MirrorStore
  #inMemory: ReadonlyArray<JsonObject> = []
  /** True at first: entries of an earlier start may wait on disk. */
  #mayWait = true

  constructor(store: MirrorStore) {
    this.#store = store
  }

  /** Adds an entry with a string `id` and `threadId`. */
  add(entry: JsonObject): Effect.Effect<void> {
    return this.#store.keep(entry).pipe(
      Effect.catch(() =>
        Effect.sync(() => {
          this.#inMemory = [...this.#inMemory, entry].slice(-MAX_IN_MEMORY)
        })
      ),
      Effect.andThen(
        Effect.sync(() => {
          this.#mayWait = true
        })
      )
    )
  }

  /** Sends what waits, oldest first. `send` returns whether the thread acknowledged the entry. */
  sendAll<E>(send: (threadId: string, entry: JsonObject) => Effect.Effect<boolean, E>): Effect.Effect<void, E> {
    return Effect.gen({ self: this }, function* () {
      if (!this.#mayWait) return
      this.#mayWait = false
      for (const waiting of yield* Effect.orElseSucceed(this.#store.waiting, () => [])) {
        if (yield* send(waiting.threadId, waiting.entry)) yield* Effect.ignore(this.#store.remove(waiting))
      }
      for (const entry of this.#inMemory) {
        if (yield* send(stringAt(entry, "threadId") ?? "", entry)) {
          this.#inMemory = this.#inMemory.filter((one) => one !== entry)
        }
      }
    }).pipe(
      Effect.onError(() =>
        Effect.sync(() => {
          this.#mayWait = true
        })
      )
    )
  }
}
