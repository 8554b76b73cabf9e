/**
 * A thread whose source never comes back from some sessions, while a file says so beside them: `NAME.loop` for a loop in
 * reading it whole, `NAME.survey` for one in its lines, `NAME.grow` for memory without end.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Fs from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as ExtractThread from "../../src/parts/ExtractThread.ts"
import { type ThreadData } from "../../src/parts/WorkerThread.ts"

const { name, settings, sign }: ThreadData = workerData

const has = ({ path }: SessionRef, kind: string): boolean => Fs.existsSync(`${path}.${kind}`)

const loop = (): void => {
  for (let turn = 0; ; turn = (turn + 1) % 2) if (turn > 1) break
}

const grow = (): void => {
  const kept: Array<Array<number>> = []
  for (;;) kept.push(Array.from({ length: 100_000 }, (_, at) => at / 3))
}

const stuck = Layer.effect(
  SessionSource,
  Effect.map(SessionSource, (source) => ({
    ...source,
    lines: (ref: SessionRef) =>
      Stream.suspend(() => {
        if (has(ref, "survey")) loop()
        return source.lines(ref)
      }),
    read: (ref: SessionRef) =>
      Effect.suspend(() => {
        if (has(ref, "loop")) loop()
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
