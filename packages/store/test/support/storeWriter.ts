/**
 * A program that writes to a store until it is killed: `node storeWriter.ts DIRECTORY SESSION hold|append`. It prints
 * `open` when it has opened the store, then the line of each acknowledged entry.
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
      // Keeps the process alive.
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
