/**
 * A program of its own, outside the workspace: hydrates a thread and says what the model would be sent next.
 * `node main.ts THREAD_FILE SESSION_FILE`
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { Hydrate } from "@pi-sessions/reconstruction/Hydrate"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { Effect, Layer } from "effect"

const [thread = "thread.jsonl", file = "session.jsonl"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const hydrate = yield* Hydrate
  const { path, mode } = yield* hydrate.hydratePiSessionFromThread(thread, process.cwd(), file)
  const source = yield* SessionSource
  const { sessions } = yield* source.list
  const session = yield* Effect.forEach(sessions, source.read)
  return { path, mode, messages: session.map(({ tree }) => SessionContext.build(tree, "1.5").messages.length) }
})

const layers = Layer.mergeAll(
  Hydrate.layer.pipe(Layer.provide(ThreadSource.layerFile)),
  SessionSource.layerFile(file)
).pipe(Layer.provide(NodeServices.layer))

const { path, mode, messages } = await Effect.runPromise(Effect.provide(program, layers))
process.stdout.write(`${path} (${mode}): ${messages.join()} messages in the context\n`)
