/** Runs `store rollback`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type StoreNotActive } from "@pi-sessions/store/StoreError"
import { type RolledBack, StoreMigration } from "@pi-sessions/store/StoreMigration"
import { UsageError } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import { type RollbackInput } from "../../store.ts"
import { counted } from "../../../print/Words.ts"
import { stores } from "../StoreSearch.ts"
import * as StoreServices from "../StoreServices.ts"

/** `already`: an earlier call rolled the session back to `path`. */
type Done =
  | (RolledBack & { readonly outcome: "rolled_back" })
  | (Pick<RolledBack, "path" | "format"> & { readonly outcome: "already" })

const NOTES = {
  already: "nothing to do: this was the active store before",
  exported: "a new file, which holds every entry of the store",
  source: "the file it was migrated from, which holds every entry of the store"
}

const CHANGED = {
  grown:
    "warning: entries were written to the migrated file after its migration; they stay there, and are not in the active file",
  rewritten:
    "warning: the migrated file was rewritten after its migration; it stays as it is, and is not the active store"
}

export const run = Effect.fnUntraced(function* (input: RollbackInput) {
  const invocation = yield* Invocation
  const migration = yield* StoreMigration
  const found = yield* stores([invocation.resolve(input.session)])
  const [store] = found.stores
  if (store === undefined || !store.named) {
    return yield* new UsageError({
      text: `${input.session} is a directory with ${counted(found.stores.length, "store")}; name one session`
    })
  }
  const format = Option.getOrUndefined(input.to)
  const reason = Option.getOrUndefined(input.reason)
  const options = { ...(format === undefined ? {} : { format }), ...(reason === undefined ? {} : { reason }) }
  const done = yield* migration.rollback(store.location, options).pipe(
    Effect.map((rolledBack): Done => ({ ...rolledBack, outcome: "rolled_back" })),
    Effect.catchTag("StoreNotActive", (error): Effect.Effect<Done, StoreNotActive> => {
      const { active, activePath: path } = error
      const isThere = active !== "native_v2" && (format === undefined || format === active)
      return isThere ? Effect.succeed({ outcome: "already", path, format: active }) : Effect.fail(error)
    })
  )
  if (done.outcome === "rolled_back" && done.sourceChanged !== "no") yield* invocation.note(CHANGED[done.sourceChanged])
  yield* invocation.note(done.outcome === "already" ? NOTES.already : done.exported ? NOTES.exported : NOTES.source)
  yield* invocation.result(
    input.json ? JSON.stringify({ sessionId: store.location.sessionId, ...done }, null, 2) : done.path
  )
}, Effect.provide(StoreServices.layer))
