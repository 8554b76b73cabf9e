/**
 * A program with little memory and a large session: `node --max-old-space-size=N openLarge.ts FILE` migrates it, reads
 * its end, its context and its first entry, and prints the time of opening and the memory used.
 */
import * as Effect from "effect/Effect"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Store from "./storeLayer.ts"

const [file = ""] = process.argv.slice(2)

const program = Effect.scoped(
  Effect.gen(function* () {
    const { entryCount, location } = yield* (yield* StoreMigration).migrate(file)
    const started = performance.now()
    const reader = yield* (yield* SessionStore).reader(location)
    const { messages } = yield* reader.context()
    const openMs = performance.now() - started
    const first = yield* reader.entry(1)
    const [last] = yield* reader.last(1)
    const rssMb = Math.round(process.resourceUsage().maxRSS / 1024)
    return { entryCount, openMs, messages: messages.length, first: first.id, last: last?.id, rssMb }
  })
)

Effect.runPromise(program.pipe(Effect.provide(Store.live))).then(
  (result) => process.stdout.write(JSON.stringify(result)),
  (error: unknown) => {
    process.stderr.write(String(error))
    process.exitCode = 1
  }
)
