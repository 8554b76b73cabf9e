/** What holds for the lines of every format, over random sessions of both real Pis. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { FORMATS } from "../src/Formats.ts"
import { type FormatName } from "../src/FormatName.ts"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { SAMPLE_FORMATS, linesOf } from "./support/formats.ts"

const WALKS = Number(process.env["PI_SESSIONS_WALKS"] || 8)
const FIRST_SEED = Number(process.env["PI_SESSIONS_SEED"] || 1)

/** The samples of each session of so many walks. */
const sessions = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const root = yield* memoryFolder
  const found: Array<ReadonlyArray<TrainingSample>> = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/project" }))
    for (const path of walk.files) {
      const cut = SampleCut.cut(Session.read(Fs.readFileSync(path)), {
        sourcePath: path,
        role: { role: "crew", roleSource: "override" },
        branches: "all"
      })
      found.push(cut.samples)
    }
  }
  return found
})

const listAt = (object: JsonObject, key: string): ReadonlyArray<JsonObject> => {
  const list = object[key]
  return isArray(list) ? list.filter(isObject) : []
}

const messagesIn = (line: JsonObject): ReadonlyArray<JsonObject> => {
  const all = [...listAt(line, "messages"), ...listAt(line, "prompt"), ...listAt(line, "completion")]
  return all.length > 0 ? all : listAt(line, "conversations")
}

const textOf = (message: JsonObject): string => stringAt(message, "content") ?? stringAt(message, "value") ?? ""

/** The messages that the format's trainer learns, as its own rules say. */
const TRAINED: { readonly [Name in FormatName]?: (line: JsonObject) => ReadonlyArray<JsonObject> } = {
  messages: (line) =>
    [...listAt(line, "messages"), ...listAt(line, "completion")].filter((message) => message["role"] === "assistant"),
  parquet: (line) =>
    [...listAt(line, "messages"), ...listAt(line, "completion")].filter((message) => message["role"] === "assistant"),
  axolotl: (line) => messagesIn(line).filter((message) => message["train"] === true),
  openai: (line) => messagesIn(line).filter((message) => message["weight"] === 1),
  mistral: (line) => messagesIn(line).filter((message) => message["weight"] === 1),
  "ms-swift": (line) => messagesIn(line).filter((message) => message["loss"] === true),
  sharegpt: (line) => messagesIn(line).filter(({ from }) => from === "gpt" || from === "function_call"),
  "llama-factory": (line) => messagesIn(line).filter(({ from }) => from === "gpt" || from === "function_call"),
  "lora-forge": (line) => messagesIn(line).filter(({ from }) => from === "gpt")
}

/** Formats whose trained messages are the targets one by one. */
const ONE_BY_ONE = new Set<FormatName>(["messages", "parquet", "axolotl", "openai", "mistral"])

const argumentsOf = (message: JsonObject): ReadonlyArray<Json> =>
  listAt(message, "tool_calls").map((call) => {
    const args = objectAt(call, "function")?.["arguments"]
    return typeof args === "string" ? JSON.parse(args) : (args ?? null)
  })

const targetsOf = ({ first_target, turns }: TrainingSample) =>
  turns.filter((turn, at) => turn.role === "assistant" && at >= first_target)

/** All strings of a value; JSON within them is looked into. */
const strings = (value: Json | undefined): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (isArray(value)) return value.flatMap(strings)
  return isObject(value) ? Object.entries(value).flatMap(([key, member]) => [key, ...strings(member)]) : []
}

const asJson = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return typeof value === "object" ? value : undefined
  } catch {
    return undefined
  }
}

/** What a format adds: marks around thinking, calls and results, and words of lora-forge's. */
const CONSTANTS =
  /<\/?think>|<tool_call name="[^"\n]*" source="\w+">|<\/tool_call>|<tool_result tool_use_id="[^"\n]+">|<\/tool_result>|<\/?context>|\[(?:human|gpt)\]|\.\.\. \[truncated\] \.\.\.|\[GAS TOWN ROLE: crew\]/gu

/** The lines of all that messages say. */
const piecesOf = (message: JsonObject): ReadonlyArray<string> => {
  const texts = [textOf(message), ...argumentsOf(message).flatMap((args) => strings(args))]
  return texts
    .flatMap((text) => text.replace(CONSTANTS, "\n").replaceAll("&lt;", "<").split("\n"))
    .flatMap((line) => {
      const json = asJson(line)
      return json === undefined ? [line] : strings(json).flatMap((text) => text.split("\n"))
    })
    .map((line) => line.trim())
}

const changed = (line: JsonObject, change: (line: { [key: string]: Json | undefined }) => void): string => {
  const copy = structuredClone(line)
  change(copy)
  return JSON.stringify(copy)
}

/** Lines that no format takes. */
const mutants = (line: JsonObject): ReadonlyArray<readonly [what: string, text: string]> => {
  const key = "prompt" in line ? "completion" : "messages" in line ? "messages" : "conversations"
  const messages = listAt(line, key)
  const content = "conversations" in line ? "value" : "content"
  const mask = ["train", "loss", "weight"].find((name) => messages.some((message) => name in message))
  const withMessages = (some: ReadonlyArray<JsonObject>) => changed(line, (copy) => void (copy[key] = some))
  const last = messages.at(-1) ?? {}
  return [
    ["torn", JSON.stringify(line).slice(0, -1)],
    ["another member", changed(line, (copy) => void (copy["extra"] = 1))],
    ["no messages", withMessages([])],
    ["ends on a person", withMessages([...messages, { role: "user", from: "human", content: "x", value: "x" }])],
    ["another role", withMessages([...messages.slice(0, -1), { ...last, role: "model", from: "model" }])],
    ["null for text", withMessages([...messages.slice(0, -1), { ...last, [content]: null }])],
    ["half a pair", withMessages([...messages.slice(0, -1), { ...last, [content]: "\ud83d" }])],
    ...(mask === undefined
      ? []
      : [
          [
            "masked",
            withMessages([...messages.slice(0, -1), { ...last, [mask]: mask === "weight" ? 0 : false }])
          ] as const
        ])
  ]
}

describe.each(PiVersion.versions)("lines of sessions of Pi %s", (version) => {
  it.live("follow the rules of their formats, train targets only and add no text", () =>
    Effect.gen(function* () {
      const counts = new Map<FormatName, { lines: number; refused: number }>()
      for (const samples of yield* sessions(version)) {
        for (const name of SAMPLE_FORMATS) {
          const count = counts.get(name) ?? { lines: 0, refused: 0 }
          counts.set(name, count)
          const format = FORMATS[name]
          // Reads every line again.
          const lines = linesOf(format, samples)
          assert.deepStrictEqual(lines, linesOf(format, samples), "the same again")
          for (const line of lines) {
            if ("refused" in line) {
              count.refused++
              continue
            }
            count.lines++
            const { piece, text } = line
            const read: JsonObject = JSON.parse(text)
            assert.isTrue(WellFormed.isWellFormed(read), name)

            const trained = TRAINED[name]?.(read) ?? []
            const targets = targetsOf(piece)
            // A format that must begin with a person loses what is said before.
            const isWhole = !("leading_assistant_turn" in line.projection.dropped)
            if (ONE_BY_ONE.has(name) && isWhole) {
              assert.deepStrictEqual(
                trained.map(textOf),
                targets.map(({ content }) => content),
                name
              )
              assert.deepStrictEqual(
                trained.map(argumentsOf),
                targets.map(({ tool_calls }) => tool_calls.map((call) => call.arguments)),
                name
              )
            } else if (isWhole) {
              const said = trained.map(textOf).join("\n").replaceAll("&lt;", "<")
              const calls = targets.flatMap(({ tool_calls }) => tool_calls)
              for (const call of calls) assert.include(said, JSON.stringify(call.name).slice(1, -1), name)
              if (name === "ms-swift" || name === "lora-forge") {
                for (const { content } of targets) assert.include(said, content, name)
              }
              if (name === "ms-swift") {
                assert.strictEqual(trained.filter(({ role }) => role === "tool_call").length, calls.length, name)
              }
              if (name === "lora-forge") {
                assert.strictEqual(said.match(/^<tool_call name="/gmu)?.length ?? 0, calls.length, name)
              }
            }

            const source = strings(JSON.parse(JSON.stringify([piece.turns, piece.tools])))
              .join("\u0000")
              .replaceAll("&lt;", "<")
            for (const message of messagesIn(read)) {
              for (const said of piecesOf(message)) {
                assert.isTrue(source.includes(said), `${name}: ${JSON.stringify(said)}`)
              }
            }
          }
          const [some] = lines.flatMap((line) => ("refused" in line ? [] : [line.text]))
          if (some === undefined) continue
          for (const [what, mutant] of mutants(JSON.parse(some))) {
            assert.isTrue(Result.isFailure(format.validate(mutant)), `${name}: ${what}`)
          }
        }
      }
      const told = [...counts].map(([name, { lines, refused }]) => `${name} ${lines} (${refused} refused)`)
      process.stdout.write(`Formats: Pi ${version}: ${told.join(", ")}\n`)
      for (const [name, { lines }] of counts) assert.isAbove(lines, WALKS / 8, name)
    })
  )
})
