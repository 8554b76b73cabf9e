/**
 * Compares samples with the requests of the real Pis: the context of each target equals, message by message, the request
 * that the model's server recorded, apart from the changes of the OpenAI-completions layer.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { fileURLToPath } from "node:url"
import * as Session from "@pi-sessions/core/Session"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import * as PiRpc from "@pi-sessions/testing/pi/PiRpc"
import { type PiVersion, versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import * as SampleCut from "../src/SampleCut.ts"
import { type TrainingSample } from "../src/TrainingSample.ts"
import { type Turn } from "../src/Turn.ts"
import { SessionImages } from "../src/SessionImages.ts"
import { conversation, recorded, sent } from "./support/openAiCompletions.ts"

const craft = fileURLToPath(import.meta.resolve("@pi-sessions/testing/pi/CraftExtension"))

const image = {
  type: "image",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  mimeType: "image/png"
}

/** An extension with a tool whose result is only an image, or empty. */
const ODD = "odd.js"
const oddTool = `export default (pi) => pi.registerTool({
  name: "odd", label: "odd", description: "An odd tool", parameters: { type: "object", properties: { shows: { type: "boolean" } } },
  execute: async (_id, { shows }) => ({ content: shows ? [${JSON.stringify(image)}] : [], details: {} })
})`

const settings = {
  defaultProvider: "fake",
  defaultModel: "fake-1",
  quietStartup: true,
  enableInstallTelemetry: false,
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 1 },
  compaction: { enabled: true, reserveTokens: 1000, keepRecentTokens: 60 }
}

/** Each answer contains the number of its request. */
const mark = (index: number): string => `<answer ${index}>`

/** Answers as the last user turn requests. */
const script = (): ScriptedModel.Script => {
  let flaky = 0
  return (request, index): ScriptedModel.ScriptedReply => {
    const at = request.messages.findLastIndex(({ role }) => role === "user")
    const last = request.messages[at]
    const said = last === undefined ? "" : ScriptedModel.textOf(last)
    const rounds = request.messages.slice(at + 1).filter(({ role }) => role === "assistant").length
    if (said.startsWith("you will fail")) return { status: 400, message: "scripted failure" }
    if (said.startsWith("be flaky") && flaky++ % 2 === 0) return { status: 503, message: "overloaded" }
    if (said.startsWith("hang")) return { text: `never to be read ${mark(index)}`, pause: Effect.never }
    if (said.startsWith("half") && rounds < 1) {
      return {
        thinking: "half \ud83d a thought",
        text: `half \udd23 a word ${mark(index)}`,
        toolCalls: [
          { id: `call_${index}|fc_+/=`, name: "odd", arguments: { shows: true } },
          { id: `call_${index}|fc_2`, name: "odd", arguments: { shows: false } }
        ]
      }
    }
    if (said.startsWith("work") && rounds < 3) {
      return {
        thinking: `step ${rounds}`,
        text: `I look ${mark(index)}`,
        toolCalls: [
          { name: "bash", arguments: { command: `echo round ${rounds}` } },
          ...(rounds === 1 ? [{ name: "read", arguments: { path: "no-such-file.txt" } }] : [])
        ]
      }
    }
    return {
      thinking: "hm, let me see",
      text: `about ${said.slice(0, 30)} ${mark(index)} ${"words and words ".repeat(8)}`
    }
  }
}

const sessionFileOf = (pi: PiRpc.PiRpc) =>
  Effect.map(pi.request({ type: "get_state" }), (state) => (state as { readonly sessionFile: string }).sessionFile)

/** Runs a long session with a real Pi; returns the session file and that of a fork. */
const drive = Effect.fnUntraced(function* (place: HermeticPi.HermeticPi, version: PiVersion) {
  const crafted = (what: object) => `/craft ${JSON.stringify(what)}`
  const pi = yield* PiRpc.start(version, {
    agentDir: place.agentDir(version),
    cwd: place.cwd,
    home: place.home,
    model: "fake-thinking",
    extensions: [craft, Path.join(place.root, ODD)],
    args: ["--session-dir", place.sessionDir]
  })
  const abort = Effect.fnUntraced(function* () {
    const from = (yield* pi.events).length
    yield* pi.send({ type: "prompt", message: "hang until somebody stops you" })
    yield* pi.event(({ type }) => type === "message_update", from)
    yield* pi.request({ type: "abort" })
    yield* pi.event(({ type }) => type === "agent_end", from)
  })
  yield* pi.prompt("tell me of apples")
  yield* pi.prompt("work on the first thing")
  yield* pi.prompt("look at this", { images: [image] })
  yield* pi.prompt("you will fail")
  yield* pi.prompt("be flaky now")
  yield* abort()
  yield* pi.prompt("after the abort")
  yield* pi.request({ type: "bash", command: "echo by hand" })
  yield* pi.prompt("did you see what I ran?")
  yield* pi.prompt(crafted({ message: "a note of an extension" }))
  yield* pi.prompt("work on the second thing")
  yield* pi.request({ type: "set_thinking_level", level: "high" })
  yield* pi.prompt("think harder")
  yield* pi.prompt("half \ud83d of a pair")
  yield* pi.request({ type: "compact" })
  yield* pi.prompt("tell me of pears")
  yield* pi.prompt("work on the third thing")
  yield* pi.prompt("half a pair, seen by two models")
  yield* pi.request({ type: "set_model", provider: "fake", modelId: "fake-1" })
  yield* pi.prompt("half \udd23 of a pair, for another model")
  yield* pi.prompt("another model answers")
  yield* pi.prompt("and goes on")
  yield* pi.prompt(crafted({ tree: "work on the third thing", label: "here", summarize: true }))
  yield* pi.prompt("tell me of plums")
  yield* pi.prompt(crafted({ tree: "tell me of plums", summarize: false }))
  yield* pi.prompt("tell me of cherries")
  yield* pi.prompt("work on the last thing")
  const file = yield* sessionFileOf(pi)
  const { messages } = (yield* pi.request({ type: "get_fork_messages" })) as {
    readonly messages: ReadonlyArray<{ readonly entryId: string }>
  }
  yield* pi.request({ type: "fork", entryId: messages.at(-1)?.entryId })
  yield* pi.prompt("in the fork")
  const fork = yield* sessionFileOf(pi)
  assert.strictEqual(yield* pi.stop, 0)
  return [file, fork]
})

/** The number in an answer's mark. */
const requestOf = ({ content }: Turn): number => Number(/<answer (\d+)>/.exec(content)?.[1] ?? -1)

describe.each(versions)("samples of sessions of Pi %s", (version) => {
  it.live(
    "have what Pi sent for each target",
    Effect.fnUntraced(function* () {
      const place = yield* HermeticPi.make(script())
      Fs.writeFileSync(Path.join(place.agentDir(version), "settings.json"), JSON.stringify(settings))
      Fs.writeFileSync(Path.join(place.root, ODD), oddTool)
      const files = yield* drive(place, version)
      const requests = yield* place.model.requests
      const seen = { targets: 0, exact: 0, reduced: 0, messages: 0 }
      const starts = new Set<string>()
      const checkTarget = (sample: TrainingSample, at: number, name: string): void => {
        const target = sample.turns[at]
        const request = requests[target === undefined ? -1 : requestOf(target)]
        assert.isDefined(request, `${name}: a recorded request of ${target?.content}`)
        const messages = conversation(version, request?.messages ?? [])
        assert.deepStrictEqual(sent(version, sample.turns.slice(0, at), target), messages, name)
        const prompt = (request?.messages ?? []).filter(({ role }) => role === "system").map(recorded)
        const system = sample.turns.find(({ role }) => role === "system")
        // 0.78 does not write its system prompt and tools into the session.
        assert.strictEqual(system !== undefined, version === "1.5", name)
        if (system !== undefined) {
          assert.strictEqual(system.content, prompt.map(({ text }) => text).join("\n\n"), name)
          const offered = (request?.tools ?? []).map((tool) => tool.function)
          assert.deepStrictEqual(
            sample.tools.map(({ name }) => name),
            offered.map(({ name }) => name)
          )
        }
        seen.targets++
        seen.messages += messages.length
      }
      for (const file of files) {
        const session = Session.read(Fs.readFileSync(file))
        const cut = SampleCut.cut(session, {
          sourcePath: file,
          role: { role: "unknown", roleSource: "none" },
          branches: "all",
          tools: [],
          images: new SessionImages()
        })
        for (const sample of cut.samples) {
          const { context, pi, start } = sample.metadata
          assert.strictEqual(pi, version)
          starts.add(start)
          seen[context]++
          for (const [at, turn] of sample.turns.entries()) {
            if (turn.role !== "assistant" || at < sample.first_target) continue
            checkTarget(sample, at, `${Path.basename(file)}, sample ${sample.metadata.sample}, turn ${at}`)
          }
        }
      }
      process.stdout.write(
        `RecordedRequests: Pi ${version}: ${requests.length} requests, ${JSON.stringify(seen)}, ${[...starts].join(", ")}\n`
      )
      assert.includeMembers([...starts], ["session", "branch", "compaction", "model"])
      assert.strictEqual(seen.reduced, 0)
      const all = requests.flatMap(({ messages }) => conversation(version, messages))
      const seenTexts = all.flatMap(({ text }) => text.split("\n"))
      const empty = version === "0.78" ? [] : ["(no tool output)"]
      const changed = ["(see attached image)", "Attached image(s) from tool result:", "half  of a pair", ...empty]
      assert.includeMembers(seenTexts, changed)
      const ids = all.flatMap(({ calls }) => calls.map(({ id }) => id))
      assert.isTrue(ids.some((id) => id.endsWith("|fc_2")))
      assert.isTrue(ids.some((id) => (version === "0.78" ? /^call_\d+$/u : /^call_\d+_fc_2$/u).test(id)))
    }),
    600_000
  )
})
