/** Runs `store checkpoint`. */
import * as Effect from "effect/Effect"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { type StoreNotActive } from "@pi-sessions/store/StoreError"
import { Invocation } from "../../../Invocation.ts"
import * as Table from "../../../print/Table.ts"
import { document, mustBeDone, overStores } from "../StoreRun.ts"
import { type StoreInput } from "../../store.ts"
import { type FoundStore } from "../StoreSearch.ts"
import * as StoreServices from "../StoreServices.ts"

interface Checkpointed {
  /** `already`: the checkpoint is current; `not_active`: another store of the session is active, so nothing was done. */
  readonly outcome: "written" | "already" | "not_active"
  readonly state?: string
  readonly entries?: number
  readonly checkpoint?: number | null
  readonly repairs: ReadonlyArray<string>
}

const checkpoint = Effect.fnUntraced(function* ({ location, named }: FoundStore) {
  const sessionStore = yield* SessionStore
  const written = Effect.gen(function* () {
    const writer = yield* sessionStore.writer(location)
    const before = writer.manifest.checkpoint_seq
    yield* writer.checkpoint()
    const { state, entryCount, repairs } = writer
    const { checkpoint_seq } = writer.manifest
    return {
      outcome: checkpoint_seq === before ? "already" : "written",
      state,
      entries: entryCount,
      checkpoint: checkpoint_seq,
      repairs
    } satisfies Checkpointed
  })
  return yield* Effect.scoped(written).pipe(
    Effect.catchTag("StoreNotActive", (error): Effect.Effect<Checkpointed, StoreNotActive> =>
      named ? Effect.fail(error) : Effect.succeed({ outcome: "not_active", repairs: [] })
    )
  )
})

export const run = Effect.fnUntraced(function* (input: StoreInput) {
  const invocation = yield* Invocation
  const checkpointed = yield* overStores(input.paths, checkpoint)
  for (const { store, value } of checkpointed.done) {
    for (const repair of value.repairs) yield* invocation.note(`repaired: ${store.container}: ${repair}`)
  }
  if (input.json) yield* invocation.result(document(checkpointed, (value) => value))
  else if (checkpointed.done.length > 0) {
    yield* invocation.result(
      Table.render(
        ["checkpoint", "number", "entries", "state", "store"],
        checkpointed.done.map(({ store, value }) => [
          value.outcome.replace("_", " "),
          value.checkpoint ?? "",
          value.entries ?? "",
          value.state ?? "",
          store.container
        ])
      ).join("\n")
    )
  }
  yield* mustBeDone(checkpointed, "checkpointed")
}, Effect.provide(StoreServices.layer))
