/** Runs `store activate`. */
import * as Effect from "effect/Effect"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { UsageError } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import { type ActivateInput } from "../../store.ts"
import { nothing, refuse, search } from "../StoreSearch.ts"
import * as StoreServices from "../StoreServices.ts"

const NOTES = {
  activated: "the whole container was read, and its marker written again",
  already: "nothing to do: it is the active store of its session"
}

export const run = Effect.fnUntraced(function* (input: ActivateInput) {
  const invocation = yield* Invocation
  const sessionStore = yield* SessionStore
  const given = invocation.resolve(input.container)
  const found = yield* search([given])
  const store = found.stores.find(({ named }) => named)
  if (store === undefined) {
    if (found.stores.length + found.files.length > 0) {
      return yield* new UsageError({ text: `${given} is not a container; name one: ID.v2` })
    }
    return yield* nothing("no container found", [given], [...found.skipped, ...refuse(found.retired)], [])
  }
  const outcome = yield* sessionStore.activate(store.location)
  yield* invocation.note(NOTES[outcome])
  const { sessionId } = store.location
  yield* invocation.result(
    input.json ? JSON.stringify({ sessionId, container: store.container, outcome }, null, 2) : store.container
  )
}, Effect.provide(StoreServices.layer))
