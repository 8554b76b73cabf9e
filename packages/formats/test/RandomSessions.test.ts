/** Genuine sessions, made by random walks through both real Pis, full of what real ones hold. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { isArray, isObject, stringAt, type Json, type JsonObject } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { type ExtractedSession } from "@pi-sessions/samples/ExtractedSession"
import { MessagesFormat } from "../src/MessagesFormat.ts"
import { type SampleFormat } from "../src/SampleFormat.ts"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import * as SessionTurns from "@pi-sessions/samples/SessionTurns"
import { ShareGptFormat } from "../src/ShareGptFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"

const WALKS = Number(process.env["PI_SESSIONS_WALKS"] || 25)
const FIRST_SEED = Number(process.env["PI_SESSIONS_SEED"] || 1)

/** The picture that walks put into messages, and enough of it to find it by. */
const PICTURE = "iVBORw0KGgo"

interface Case {
  readonly name: string
  readonly session: Session.Session
  readonly extracted: ExtractedSession
}

const cases = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const root = yield* temporaryFolder
  const found: Array<Case> = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/project" }))
    for (const path of walk.files) {
      const session = Session.read(Fs.readFileSync(path))
      const extracted = SessionTurns.extract(session, {
        sourcePath: path,
        role: { role: "unknown", roleSource: "none" },
        profile: version
      })
      found.push({ name: `Pi ${version}, seed ${seed}, ${Path.basename(path)}`, session, extracted })
    }
  }
  return found
})

/** The branch that was extracted. */
const branchOf = ({ extracted, session }: Case) => session.tree.branchAt(extracted.metadata.leaf_id)

const callsOf = (message: JsonObject): ReadonlyArray<JsonObject> => {
  const content = message["content"]
  return isArray(content)
    ? content.flatMap((block) => (isObject(block) && block["type"] === "toolCall" ? [block] : []))
    : []
}

/** What Pi would send, told as calls and results by id; the end is cut to the last assistant message. */
const sentByPi = (one: Case, version: PiVersion.PiVersion): ReadonlyArray<string> => {
  const messages = SessionContext.project(branchOf(one), version).map((item) => item.message)
  const model = { provider: "none", api: "none", id: "none", images: true }
  const sent = ModelContext.transformMessages(ModelContext.convertToLlm(messages, version), model, version)
  const open = new Set<Json | undefined>()
  const told: Array<string> = []
  for (const message of sent) {
    for (const call of callsOf(message)) {
      open.add(call["id"])
      told.push(`call ${String(call["id"])}`)
    }
    // Pi also sends results of turns it leaves out, and those that come after it made one up; providers refuse both.
    if (message["role"] === "toolResult" && open.delete(message["toolCallId"])) {
      told.push(
        `result ${String(message["toolCallId"])} ${stringAt(message, "toolName")} ${String(message["isError"])}`
      )
    }
  }
  return told.slice(0, told.findLastIndex((line) => line.startsWith("call")) + 1)
}

const toldByTurns = ({ extracted }: Case): ReadonlyArray<string> => {
  const told = extracted.turns.flatMap((turn) => [
    ...turn.tool_results.map((r) => `result ${r.tool_call_id} ${r.tool_name} ${r.is_error}`),
    ...turn.tool_calls.map((call) => `call ${call.id}`)
  ])
  return told.slice(0, told.findLastIndex((line) => line.startsWith("call")) + 1)
}

const count = (text: string, part: string): number => text.split(part).length - 1

const checkSample = <S>(sample: TrainingSample, name: string, format: SampleFormat<S>): boolean => {
  const projection = format.project(sample)
  if (projection._tag === "None") return false
  const line = JSON.stringify(projection.sample)
  const checked = format.validate(line)
  assert.isTrue(Result.isSuccess(checked), `${name}: ${Result.isFailure(checked) ? checked.failure.message : ""}`)
  assert.deepStrictEqual(checked, Result.succeed(projection.sample), name)
  assert.notInclude(line, PICTURE, name)
  assert.notInclude(line, "\n", name)
  return true
}

/** What holds for every sample, in whatever format. */
const checkCut = ({ first_target, metadata, turns }: TrainingSample, name: string): void => {
  const answers = turns.flatMap((turn, at) => (turn.role === "assistant" ? [at] : []))
  assert.strictEqual(turns[first_target]?.role, "assistant", `${name}: the first target is an answer`)
  assert.strictEqual(answers.filter((at) => at >= first_target).length, metadata.targets, name)
  assert.strictEqual(answers.filter((at) => at < first_target).length, metadata.context_answers, name)
  assert.strictEqual(turns.at(-1)?.role, "assistant", `${name}: a sample ends on an answer`)
  for (const [at, turn] of turns.slice(0, -1).entries()) {
    const results = turns[at + 1]?.tool_results ?? []
    assert.deepStrictEqual(
      results.map((result) => result.tool_call_id).sort(),
      turn.tool_calls.map((call) => call.id).sort(),
      `${name}: each call has its result, and each result its call`
    )
  }
  assert.strictEqual(turns[0]?.tool_results.length, 0, `${name}: a sample does not begin with a result`)
}

describe.each(PiVersion.versions)("sessions of Pi %s", (version) => {
  it.effect(
    "give samples that hold to their formats' rules",
    () =>
      Effect.gen(function* () {
        let samples = 0
        let conversations = 0
        for (const { name, session } of yield* cases(version)) {
          const cut = SampleCut.cut(session, {
            sourcePath: "s.jsonl",
            role: { role: "unknown", roleSource: "none" },
            branches: "all"
          })
          for (const sample of cut.samples) {
            checkCut(sample, name)
            assert.isTrue(checkSample(sample, name, MessagesFormat), name)
            samples++
            if (checkSample(sample, name, ShareGptFormat)) conversations++
          }
        }
        assert.isAbove(samples, WALKS)
        assert.isAbove(conversations, samples / 8)
      }),
    60_000
  )

  it.effect(
    "have the calls and results that Pi would send, in its order",
    () =>
      Effect.gen(function* () {
        for (const one of yield* cases(version)) {
          assert.deepStrictEqual(toldByTurns(one), sentByPi(one, version), one.name)
        }
      }),
    60_000
  )

  it.effect(
    "lose no turn and no image uncounted",
    () =>
      Effect.gen(function* () {
        for (const one of yield* cases(version)) {
          const { extracted, name, session } = one
          const { dropped } = extracted.metadata
          const lost = (...reasons: ReadonlyArray<string>) =>
            reasons.reduce((sum, reason) => sum + (dropped[reason] ?? 0), 0)
          const items = SessionContext.project(branchOf(one), version)
          const of = (role: string) => items.filter(({ message }) => message["role"] === role)
          const turns = extracted.turns
          const assistants = turns.filter((turn) => turn.role === "assistant")
          assert.strictEqual(
            assistants.length + lost("aborted_turn", "error_turn", "empty_assistant_turn"),
            of("assistant").length,
            name
          )
          const made = turns.flatMap((turn) => turn.metadata.unanswered ?? []).length
          const kept = turns.flatMap((turn) => turn.tool_results).length - made
          const results = lost(
            "aborted_turn_tool_result",
            "error_turn_tool_result",
            "orphan_tool_result",
            "duplicate_tool_result"
          )
          assert.strictEqual(kept + results, of("toolResult").length, name)
          const texts = JSON.stringify(turns.map((turn) => [turn.content, turn.tool_results]))
          assert.strictEqual(count(texts, "[image]"), lost("image"), name)
          const conversation = session.tree
            .getEntries()
            .filter(({ type }) => type === "message" || type === "custom_message" || type === "branch_summary")
          const here = new Set(items.map((item) => item.entry))
          const elsewhere = lost("other_branch_message", "compacted_message", "edited_out_message", "trailing_message")
          const silent = conversation.filter(
            (entry) => !here.has(entry) && entry.type === "branch_summary" && entry.decode()["summary"] === ""
          ).length
          const gone = conversation.filter((entry) => !here.has(entry)).length
          assert.isTrue(elsewhere <= gone && elsewhere >= gone - silent, name)
        }
      }),
    60_000
  )
})
