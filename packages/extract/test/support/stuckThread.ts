/**
 * A thread whose source gets stuck in some sessions. A file beside the session says how: `NAME.loop` for an endless loop
 * while it is read, `NAME.wait` for an endless wait there, `NAME.survey` for one in the survey, `NAME.grow` for memory.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Fs from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as ExtractThread from "../../src/workers/ExtractThread.ts"
import { type ThreadData } from "../../src/workers/WorkerThread.ts"

const { name, settings, sign }: ThreadData = workerData

const has = ({ path }: SessionRef, kind: string): boolean => Fs.existsSync(`${path}.${kind}`)

const loop = (): void => {
  for (let turn = 0; ; turn = (turn + 1) % 2) if (turn > 1) break
}

const wait = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)

const grow = (): void => {
  const kept: Array<Array<number>> = []
  for (;;) kept.push(Array.from<number>({ length: 2_000_000 }).fill(kept.length / 3))
}

const stuck = Layer.effect(
  SessionSource,
  Effect.map(SessionSource, (source) => ({
    ...source,
    lines: (ref: SessionRef) =>
      Stream.suspend(() => {
        if (has(ref, "survey")) wait()
        return source.lines(ref)
      }),
    read: (ref: SessionRef) =>
      Effect.suspend(() => {
        if (has(ref, "loop")) loop()
        if (has(ref, "wait")) wait()
        if (has(ref, "grow")) grow()
        return source.read(ref)
      })
  }))
).pipe(Layer.provide(SessionSource.layerPaths([])))

if (parentPort !== null) {
  Effect.runFork(
    Effect.scoped(ExtractThread.serve(parentPort, name, settings, sign)).pipe(
      Effect.provide(Layer.provideMerge(stuck, NodeServices.layer))
    )
  )
}
