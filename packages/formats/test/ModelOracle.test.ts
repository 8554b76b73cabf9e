/**
 * Templates and tokenizers of the fixtures' models against Python's Jinja2, and against Hugging Face's tokenizers where
 * they are installed (`PI_SESSIONS_PYTHON` names a Python that has them): over samples of random sessions of both Pis.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { markedMessages, toolsOf } from "../src/chat/ChatMessages.ts"
import { type Conversation } from "../src/model/ChatTemplate.ts"
import * as LossMask from "../src/model/LossMask.ts"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { IGNORED, labelled, normalized } from "../src/TokensFormat.ts"
import { fixtureSamples } from "./support/formats.ts"
import { MODELS, type ModelName, directoryOf, load } from "./support/models.ts"

const PYTHON = process.env["PI_SESSIONS_PYTHON"] || "python3"
const SCRIPT = Path.resolve(import.meta.dirname, "support/renderOracle.py")
const WALKS = Number(process.env["PI_SESSIONS_WALKS"] || 3)

interface Answer {
  readonly refused?: string
  readonly text: string
  readonly prompt: string
  readonly generated: Array<readonly [number, number]>
  readonly ids: ReadonlyArray<number> | null
  readonly offsets: ReadonlyArray<readonly [number, number]> | null
}

const ask = (input: unknown) =>
  ChildProcess.spawnSync(PYTHON, [SCRIPT], { input: JSON.stringify(input), encoding: "utf8", maxBuffer: 1 << 30 })

/** Why there is no oracle here. */
const missing = ((): string | undefined => {
  const { error, status } = ask({ models: {}, cases: [] })
  if (error !== undefined) return `no ${PYTHON}`
  return status === 0 ? undefined : `${PYTHON} has no jinja2`
})()
if (missing !== undefined) process.stdout.write(`Templates are not compared with Jinja2: ${missing}\n`)

const inCodePoints = (text: string, offset: number): number => Array.from(text.slice(0, offset)).length

describe("models of the fixtures", () => {
  it.live.skipIf(missing !== undefined)("write and count as Python does", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const samples = [...fixtureSamples("gt/deacon-patrol"), ...fixtureSamples("project/branches")]
      for (const version of PiVersion.versions) {
        for (let seed = 1; seed <= WALKS; seed++) {
          const dir = Path.join(root, version, String(seed))
          const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 40, dir, cwd: "/srv" }))
          const read = Session.read(Fs.readFileSync(walk.file))
          const role = { role: "crew", roleSource: "override" } as const
          samples.push(...SampleCut.cut(read, { sourcePath: walk.file, role, branches: "all" }).samples)
        }
      }
      const date = new Date("2026-01-05T10:00:00.000Z")
      const cases: Array<{
        readonly model: ModelName
        readonly conversation: Conversation
        readonly targets: ReadonlyArray<number>
      }> = []
      for (const sample of samples) {
        const marked = markedMessages(sample).messages
        const messages = marked.map(({ message }) => message)
        const targets = marked.flatMap(({ isTarget }, at) => (isTarget ? [at] : []))
        const conversation = { messages, tools: toolsOf(sample), date }
        for (const model of MODELS) {
          cases.push({ model, conversation: normalized(conversation, yield* load(model)), targets })
        }
      }
      const { status, stderr, stdout } = ask({
        models: Object.fromEntries(MODELS.map((name) => [name, directoryOf(name)])),
        cases: cases.map(({ conversation: { messages, tools }, model }) => {
          return { model, messages, tools, date: "2026-01-05T10:00:00" }
        })
      })
      assert.strictEqual(status, 0, stderr)
      const told: { readonly tokenizers: boolean; readonly results: ReadonlyArray<Answer> } = JSON.parse(stdout)
      assert.strictEqual(told.results.length, cases.length)
      const counts = { rendered: 0, refused: 0, marked: 0, tokens: 0, labels: 0, across: 0 }
      const models = new Map(
        yield* Effect.forEach(MODELS, (name) => Effect.map(load(name), (model) => [name, model] as const))
      )
      for (const [at, { conversation, model: name, targets }] of cases.entries()) {
        const model = models.get(name)
        const answer = told.results[at]
        if (model === undefined || answer === undefined) throw new Error("no such case")
        const rendered = model.template.render(conversation)
        if (answer.refused !== undefined) {
          assert.deepStrictEqual(Result.isFailure(rendered) && rendered.failure, answer.refused)
          counts.refused++
          continue
        }
        assert.isTrue(Result.isSuccess(rendered))
        const { generated, text } = Result.getOrThrow(rendered)
        assert.strictEqual(text, answer.text)
        const prompt = Result.getOrThrow(model.template.render(conversation, { prompt: true }))
        assert.strictEqual(prompt.text, answer.prompt)
        assert.deepStrictEqual(
          generated.map(({ end, start }) => [inCodePoints(text, start), inCodePoints(text, end)] as const),
          answer.generated
        )
        counts.rendered++
        counts.marked += generated.length
        const { ids, offsets } = answer
        if (ids === null || offsets === null) continue
        assert.deepStrictEqual(model.tokenizer.encode(text)?.ids, ids)
        assert.strictEqual(model.tokenizer.decode(ids), text)
        counts.tokens += ids.length
        const { answers } = LossMask.find(conversation, targets, model)
        const learnt = answers.flatMap((one) => (one._tag === "Learnt" ? [one.span] : []))
        const within = learnt.map(({ end, start }) => [inCodePoints(text, start), inCodePoints(text, end)] as const)
        const isAcross = offsets.some(([start, end]) => within.flat().some((border) => start < border && border < end))
        if (isAcross) counts.across++
        else {
          const labels = ids.map((id, i) => {
            const [start = 0, end = 0] = offsets[i] ?? []
            return within.some(([from, to]) => from <= start && end <= to) ? id : IGNORED
          })
          const line = labelled(text, learnt, model)
          assert.deepStrictEqual([line?.input_ids, line?.labels], [ids, labels])
          counts.labels += labels.filter((label) => label !== IGNORED).length
        }
      }
      assert.isAbove(counts.rendered, 50)
      assert.isAbove(counts.marked, 50)
      const by = told.tokenizers ? "" : ` (${PYTHON} has no tokenizers: no tokens)`
      process.stdout.write(`Templates against Jinja2: ${JSON.stringify(counts)}${by}\n`)
    })
  )
})
