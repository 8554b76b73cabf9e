/** One contender of readContext.bench.ts: `WHICH FILE`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { report } from "@pi-sessions/testing/Bench"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import { SessionSource } from "../../src/SessionSource.ts"

const [which = "", file = ""] = process.argv.slice(2)
if (which === "ours") {
  const read = Effect.gen(function* () {
    const source = yield* SessionSource
    const { sessions } = yield* source.list
    const session = yield* source.read(sessions[0]!)
    return SessionContext.build(session.tree, "1.5")
  })
  const program = read.pipe(Effect.provide(SessionSource.layerFile(file)), Effect.provide(NodeServices.layer))
  await report(() => Effect.runPromise(program))
} else {
  const pi = await PiModule.load(which === "1.5" ? "1.5" : "0.78")
  await report(() => pi.SessionManager.open(file).buildSessionContext())
}
