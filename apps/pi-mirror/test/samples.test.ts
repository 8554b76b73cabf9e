/** Samples of mirrored sessions have the system prompt and the tools, which session files of Pi 0.78 do not hold. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FileSystem from "node:fs"
import * as Session from "@pi-sessions/core/Session"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import * as RequestContexts from "@pi-sessions/samples/RequestContexts"
import { make, tested } from "./support/place.ts"

describe.each(tested("0.78"))("samples of a mirrored session of Pi %s", (version) => {
  it.live(
    "have the system prompt and the tools that were sent",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      const pi = yield* place.start(version, {})
      yield* pi.prompt("tell me of apples")
      yield* pi.prompt("please write the file")
      const { sessionFile } = (yield* pi.request({ type: "get_state" })) as { readonly sessionFile: string }
      assert.strictEqual(yield* pi.stop, 0)

      const requestContexts = yield* RequestContexts.read([place.threads]).pipe(Effect.provide(NodeServices.layer))
      const [sample, ...others] = SampleCut.cut(Session.read(FileSystem.readFileSync(sessionFile)), {
        sourcePath: sessionFile,
        role: { role: "unknown", roleSource: "none" },
        requestContexts
      }).samples
      assert.deepStrictEqual(others, [])
      const [request] = yield* place.pi.model.requests
      const prompt = request?.messages.find(({ role }) => role === "system")?.content
      assert.strictEqual(sample?.turns[0]?.content, prompt)
      assert.deepStrictEqual(
        sample?.tools.map(({ name, parameters }) => [name, parameters]),
        request?.tools?.map((tool) => [tool.function.name, tool.function["parameters"]])
      )
      const source = version === "0.78" ? ["thread", "thread"] : ["session", "declared"]
      const { context, system_source, tools_source } = sample?.metadata ?? {}
      assert.deepStrictEqual([system_source, tools_source, context], [...source, "exact"])
    })
  )
})
