/** A contender of doctor.bench.ts. Arguments: `readline|doctor FILE`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Files from "node:fs"
import * as Readline from "node:readline"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { report } from "@pi-sessions/testing/Bench"
import * as SessionDoctor from "../../src/SessionDoctor.ts"

const [which = "", path = ""] = process.argv.slice(2)

const readline = async (): Promise<number> => {
  let characters = 0
  for await (const line of Readline.createInterface({ input: Files.createReadStream(path) })) characters += line.length
  return characters
}

const doctor = Effect.gen(function* () {
  const source = yield* SessionSource
  const session = yield* source.read({ path, sizeBytes: Files.statSync(path).size, modifiedMs: 0 })
  return SessionDoctor.examine(session).length
}).pipe(Effect.provide(SessionSource.layerFile(path)), Effect.provide(NodeServices.layer))

await report(() => (which === "readline" ? readline() : Effect.runPromise(doctor)))
