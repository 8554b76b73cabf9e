/**
 * A program of its own that writes to a store: `node storeWriter.ts DIRECTORY SESSION hold|append`. It says `open` when it
 * has the store, then the id of each entry that was acknowledged, and goes on until it is killed.
 */
import * as Effect from "effect/Effect"
import { SessionStore } from "../../src/SessionStore.ts"
import * as Sessions from "./sessions.ts"
import * as Store from "./storeLayer.ts"

const [directory = "", sessionId = "", mode = "hold"] = process.argv.slice(2)

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const program = Effect.scoped(
  Effect.gen(function* () {
    const store = yield* SessionStore
    const writer = yield* store.writer({ directory, sessionId }, { segmentBytes: 20_000 })
    say("open")
    if (mode === "hold") {
      // Nothing else keeps a process alive.
      setInterval(() => {}, 1000)
      return yield* Effect.never
    }
    let parentId: string | null = null
    for (let n = writer.entryCount + 1; ; n++) {
      const entry = Sessions.entryLine(`p${process.pid}-${n}`, parentId, { text: "x".repeat(n % 500) })
      yield* writer.append(entry)
      parentId = entry.id
      say(entry.text)
    }
  })
)

Effect.runPromise(program.pipe(Effect.provide(Store.live), Effect.asVoid)).catch((error: unknown) => {
  say(`failed: ${String(error)}`)
  process.exitCode = 1
})
