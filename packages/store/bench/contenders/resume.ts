/** One contender of store.bench.ts: resumes a session, `WHICH PATH`: opens it, reads the last 256 entries, builds the context. */
import * as Path from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { reportMedian } from "@pi-sessions/testing/Bench"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreLock } from "../../src/StoreLock.ts"

const [which = "", path = ""] = process.argv.slice(2)
if (which === "store") {
  const location = { directory: Path.dirname(path), sessionId: Path.basename(path, ".v2") }
  const layer = SessionStore.layer.pipe(
    Layer.provide(StoreLock.layer),
    Layer.provide(Sqlite.layer),
    Layer.provide(NodeServices.layer)
  )
  const resume = Effect.gen(function* () {
    const store = yield* SessionStore
    const reader = yield* store.reader(location)
    const last = yield* reader.last(256)
    return [last, yield* reader.context()]
  }).pipe(Effect.scoped)
  await reportMedian(() => Effect.runPromise(resume.pipe(Effect.provide(layer))))
} else {
  const pi = await PiModule.load(which === "1.5" ? "1.5" : "0.78")
  const runs = 3
  await reportMedian(() => {
    const session = pi.SessionManager.open(path)
    return [session.getEntries().slice(-256), session.buildSessionContext()]
  }, runs)
}
