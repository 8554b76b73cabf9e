/**
 * A contender of hydrate.bench.ts: `WHICH ROUNDS THREAD TARGET`. Reports the time of the last round, and the peak memory
 * of the process, of which Node and the unbundled modules take 120 MB.
 */
import * as FileSystem from "node:fs"
import { performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Report } from "@pi-sessions/testing/Bench"
import { Hydrate } from "../../src/Hydrate.ts"
import { ThreadSource } from "../../src/ThreadSource.ts"

// The same flag as in main.ts of sandbox-hydrate.
setFlagsFromString("--semi-space-growth-factor=1")

const [which = "", rounds = "1", thread = "", target = ""] = process.argv.slice(2)

/** The fastest plain way known: one buffer, native newline search, JSON.parse. */
const parse = (): number => {
  const handle = FileSystem.openSync(thread, "r")
  const buffer = Buffer.allocUnsafeSlow(4 << 20)
  let used = 0
  let entries = 0
  for (;;) {
    const read = FileSystem.readSync(handle, buffer, used, buffer.length - used, null)
    if (read === 0) break
    used += read
    let start = 0
    const filled = buffer.subarray(0, used)
    for (let end = filled.indexOf(10, start); end >= 0; end = filled.indexOf(10, start)) {
      const entry: { readonly type?: unknown } = JSON.parse(buffer.toString("utf8", start, end))
      if (entry.type !== undefined) entries++
      start = end + 1
    }
    buffer.copyWithin(0, start, used)
    used -= start
  }
  FileSystem.closeSync(handle)
  return entries
}

const platform = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer)
const hydrate = Effect.flatMap(Hydrate, (service) => service.hydratePiSessionFromThread(thread, "/", target)).pipe(
  Effect.provide(Hydrate.layer.pipe(Layer.provide(ThreadSource.layerFile), Layer.provide(platform)))
)

let ms = 0
for (let round = 0; round < Number(rounds); round++) {
  FileSystem.rmSync(target, { force: true })
  const start = performance.now()
  if (which === "parse") parse()
  else await Effect.runPromise(hydrate)
  ms = performance.now() - start
}
const mb = (process.resourceUsage().maxRSS * 1024) / 1e6
process.stdout.write(`${JSON.stringify({ ms, mb } satisfies Report)}\n`)
