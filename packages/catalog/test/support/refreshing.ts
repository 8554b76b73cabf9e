/** A process that refreshes the index of `DIRECTORY` several times, and removes some rows before each refresh. */
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { IndexRefresh } from "../../src/IndexRefresh.ts"
import { fast } from "./catalogLayer.ts"

const [root = ""] = process.argv.slice(2)

const refresh = Effect.flatMap(IndexRefresh, (index) => index.refresh({ sessions: [root] }))

const forget = Effect.sync(() => {
  const database = new DatabaseSync(Path.join(root, "session-index.sqlite"), { timeout: 20_000 })
  database.exec("DELETE FROM sessions WHERE path LIKE '%7.jsonl' AND path NOT LIKE '/of/another/%'")
  database.close()
})

await Effect.runPromise(
  Effect.gen(function* () {
    for (let round = 0; round < 4; round++) {
      yield* refresh
      if (round < 3) yield* forget
    }
  }).pipe(Effect.provide(fast))
)
