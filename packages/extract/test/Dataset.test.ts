/** Properties of whole datasets of real sessions with branches, compactions and forks. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract } from "../src/Extract.ts"

const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 4, campaign: 100 })
const FIRST_SEED = Dose.firstSeed()

/** A line of `messages`, as plain JSON. */
interface Line {
  readonly messages?: ReadonlyArray<JsonObject>
  readonly prompt?: ReadonlyArray<JsonObject>
  readonly completion?: ReadonlyArray<JsonObject>
  readonly metadata: { readonly source_path: string; readonly targets: number }
}

const linesOf = (path: string): ReadonlyArray<Line> =>
  Fs.readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line))

/** The dataset of all branches of so many walks, and the folder of their files. */
const dataset = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const root = yield* memoryFolder
  for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
    const dir = Path.join(root, "sessions", String(seed))
    yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/project" }))
  }
  const report = yield* Effect.flatMap(Extract, (extract) =>
    extract.run({
      redaction: "off",
      rigs: [],
      roles: [],
      format: "messages",
      out: Path.join(root, "out"),
      branches: "all"
    })
  ).pipe(
    Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([Path.join(root, "sessions")])))),
    Effect.provide(NodeServices.layer)
  )
  return { report, lines: report.outputs.files.flatMap(({ path }) => linesOf(path)) }
})

/** Each target of a line as text, with its context. */
const targetsOf = ({ completion, messages, prompt = [] }: Line): ReadonlyArray<string> => {
  const all = messages ?? [...prompt, ...(completion ?? [])]
  return all.flatMap((message, at) =>
    message["role"] === "assistant" && at >= prompt.length ? [JSON.stringify(all.slice(0, at + 1))] : []
  )
}

/** Every answer in a session file that is one: it did not fail, and says or calls something. */
const answersIn = (path: string): ReadonlyArray<readonly [id: string, content: string]> =>
  Fs.readFileSync(path, "utf8")
    .split("\n")
    .slice(1, -1)
    .flatMap((line): ReadonlyArray<readonly [string, string]> => {
      const entry: JsonObject = JSON.parse(line)
      const message = objectAt(entry, "message")
      const content = message?.["content"]
      if (message?.["role"] !== "assistant" || !isArray(content)) return []
      if (["error", "aborted"].includes(String(message["stopReason"]))) return []
      const says = content.some(
        (block) => isObject(block) && (block["type"] === "toolCall" || (stringAt(block, "text") ?? "").trim() !== "")
      )
      return says ? [[stringAt(entry, "id") ?? "", JSON.stringify(content)]] : []
    })

/** As Pi sends it: without lone surrogates. */
const sent = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, "")

/** All text of a session: its strings, and the joined texts of each message. */
const stringsIn = (value: Json): ReadonlyArray<string> => {
  if (typeof value === "string") return [sent(value)]
  if (isArray(value)) {
    // 0.78 sends the thinking of another model as text.
    const texts = value.flatMap((block) =>
      isObject(block) ? (stringAt(block, "text") ?? stringAt(block, "thinking") ?? []) : []
    )
    return [...value.flatMap(stringsIn), texts.map(sent).join("")]
  }
  return isObject(value)
    ? Object.values(value).flatMap((member) => (member === undefined ? [] : stringsIn(member)))
    : []
}

/** Text of samples that is in no session: Pi's own, and a mark. */
const CONSTANTS =
  /\[image\]|No result provided|The conversation history before this point was compacted into the following summary:|The following is a summary of a branch that this conversation came back from:|<\/?summary>|\(command cancelled\)|\(no output\)|Command exited with code -?\d+|\[Output truncated\. Full output: |^Ran `|```/gm

describe.each(PiVersion.versions)("a dataset of sessions of Pi %s", (version) => {
  it.live("holds each pair of context and answer once, and every answer of every session", () =>
    Effect.gen(function* () {
      const { lines, report } = yield* dataset(version)
      const targets = lines.flatMap(targetsOf)
      assert.strictEqual(new Set(targets).size, targets.length)
      assert.strictEqual(targets.length, report.total.targets)
      assert.strictEqual(
        targets.length,
        lines.reduce((sum, { metadata }) => sum + metadata.targets, 0)
      )
      // Forks hold the answers of their parents under the same ids.
      const answers = new Map(report.rows.flatMap(({ path }) => answersIn(path)))
      process.stdout.write(
        `Dataset: Pi ${version}: ${report.rows.length} sessions, ${lines.length} samples, ${targets.length} targets of ${answers.size} answers\n`
      )
      // Two sessions may say the same in the same context, and one may say the same in two.
      assert.isAtMost(targets.length, answers.size)
      assert.isAtLeast(targets.length, new Set(answers.values()).size)
      assert.isAbove(lines.filter(({ prompt }) => prompt !== undefined).length, 0)
    })
  )

  it.live("has counts of sessions and samples that add up", () =>
    Effect.gen(function* () {
      const { lines, report } = yield* dataset(version)
      const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, one) => all + one, 0)
      assert.strictEqual(report.sessions.found, report.sessions.kept + sum(report.sessions.dropped))
      assert.strictEqual(report.samples.found, report.samples.kept + sum(report.samples.dropped))
      assert.strictEqual(report.samples.kept, lines.length)
      assert.strictEqual(report.rows.length, report.sessions.found)
    })
  )

  it.live("has only text of its sessions and of Pi", () =>
    Effect.gen(function* () {
      const { lines } = yield* dataset(version)
      const said = new Map<string, string>()
      for (const { completion = [], messages = [], metadata, prompt = [] } of lines) {
        const path = metadata.source_path
        const source =
          said.get(path) ??
          Fs.readFileSync(path, "utf8")
            .split("\n")
            .slice(0, -1)
            .flatMap((line) => stringsIn(JSON.parse(line)))
            .join("\u0000")
        said.set(path, source)
        for (const text of stringsIn([...messages, ...prompt, ...completion].flatMap(({ content }) => content ?? []))) {
          for (const piece of text.replace(CONSTANTS, "\n").split("\n")) {
            const words = piece.replace(/[`\]]$/u, "").trim()
            assert.isTrue(source.includes(words), `${path}: ${JSON.stringify(words)}`)
          }
        }
      }
    })
  )
})
