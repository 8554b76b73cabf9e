/** A worker thread of `extract`: the second entry of the bundle. */
import { parentPort, workerData } from "node:worker_threads"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ExtractThread from "@pi-sessions/extract/workers/ExtractThread"
import { type ThreadData } from "@pi-sessions/extract/workers/WorkerThread"
import { collectLater } from "./commands/extract/garbageCollection.ts"
import * as StoredSessions from "./StoredSessions.ts"

const { name, settings, sign }: ThreadData = workerData

if (parentPort !== null) {
  collectLater()
  const layer = Layer.provideMerge(StoredSessions.layerPaths([]), NodeServices.layer)
  Effect.runFork(Effect.scoped(ExtractThread.serve(parentPort, name, settings, sign)).pipe(Effect.provide(layer)))
}
