/**
 * Mirrors one session file into a directory of threads, until it is killed or its input ends. Prints `open` when it has
 * started.
 *
 *     node mirrorAlone.ts FILE SESSION_ID THREAD_ID THREADS_DIRECTORY STATE_DIRECTORY
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Mirror } from "../../src/Mirror.ts"
import { ThreadSink } from "../../src/ThreadSink.ts"
import { ThreadSource } from "../../src/ThreadSource.ts"

const [file = "", sessionId = "", threadId = "", threads = "", stateDirectory = ""] = process.argv.slice(2)

process.stdin.resume().once("end", () => process.exit())

Effect.gen(function* () {
  const mirror = yield* Mirror
  yield* mirror.open({ file, sessionId, threadId, fallbackThreadId: threadId, fresh: false })
  process.stdout.write("open\n")
  return yield* Effect.never
}).pipe(
  Effect.provide(
    // Small batches without pauses, so that a kill may come between any two steps.
    Mirror.layer({ sinkName: threads, stateDirectory, interval: "4 millis", maxLines: 5 }).pipe(
      Layer.provide([ThreadSink.layerDirectory(threads), ThreadSource.layerDirectory(threads)]),
      Layer.provide(NodeServices.layer)
    )
  ),
  NodeRuntime.runMain
)
