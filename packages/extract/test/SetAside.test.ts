/** Setting long texts aside gives the same lines as processing whole sessions. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Dose from "@pi-sessions/testing/Dose"
import * as Session from "@pi-sessions/core/Session"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { ChatMessage, QuickMessages } from "@pi-sessions/formats/chat/ChatMessages"
import { DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type SampleOptions } from "../src/ExtractOptions.ts"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { type CutSession, cutOf, cutSession, ofCut } from "../src/parts/cutSession.ts"
import { toLines } from "../src/parts/sessionLines.ts"
import { SAMPLE_FORMATS } from "@pi-sessions/formats/test/formats"

type Random = SeededRandom.SeededRandom

const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 3, campaign: 100 })
const SEED = Dose.firstSeed()

const pieces = [
  "what a tool printed, line after line ",
  "\n",
  '"quoted" ',
  "C:\\Users\\martha ",
  "/home/martha/project ",
  "martha@example.org ",
  "password=hunter2hunter2hunter2 ",
  "\u001b[0m",
  "für größere Dateien ",
  "日本語 ",
  "😀",
  "\ufdd0",
  "No, that is wrong. ",
  "Shall I? ",
  "[image] "
] as const

const text = (random: Random): string => {
  const start = random.chance(0.2) ? random.pick(["", " ", "\n\n", " ".repeat(90), "\ud83d"]) : ""
  return start + Array.from({ length: random.pick([1, 2, 5, 30, 120]) }, () => random.pick(pieces)).join("")
}

const COMMANDS = ["pnpm test", "git commit -m x", "bd close gt-1", "ls"] as const

/** A session with texts of all lengths, many of them repeated, in every place where texts can be. */
const sessionOf = (random: Random): Session.Session => {
  const said: Array<string> = ["x"]
  const any = (): string => {
    if (random.chance(0.2)) return said[random.int(said.length)] ?? ""
    const made = text(random)
    said.push(made)
    return made
  }
  const lines: Array<object> = [
    { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/home/martha/project" }
  ]
  const add = (line: object): void => {
    const at = lines.length
    const parentId = at === 1 ? null : `e${random.chance(0.05) ? 1 + random.int(at - 1) : at - 1}`
    lines.push(
      Object.assign({ type: "", id: `e${at}`, parentId, timestamp: "2026-01-01T00:00:01.000Z" }, line) as never
    )
  }
  const model = { api: "openai-completions", provider: "p", model: "m", usage: { input: 1, output: 2 } }
  for (let turn = 2 + random.int(8); turn > 0; turn--) {
    add({
      type: "message",
      message: {
        role: "user",
        content: random.chance(0.3)
          ? any()
          : [
              { type: "text", text: any() },
              { type: "text", text: any() }
            ]
      }
    })
    if (random.chance(0.1)) add({ type: "custom_message", customType: "gastown-mail", content: any(), display: true })
    if (random.chance(0.1))
      add({ type: "message", message: { role: "bashExecution", command: any(), output: any(), exitCode: 1 } })
    if (random.chance(0.1))
      add({
        type: "compaction",
        summary: any(),
        firstKeptEntryId: `e${1 + random.int(lines.length - 1)}`,
        tokensBefore: 9
      })
    if (random.chance(0.05))
      add({
        type: "message",
        message: {
          role: "system",
          content: any(),
          sections: { rules: any() },
          toolsAdded: [{ name: "bash", description: any(), parameters: { type: "object", title: any() } }]
        }
      })
    const calls = Array.from({ length: random.int(3) }, () => {
      const id = random.chance(0.1) ? `call ${"long ".repeat(80)}${lines.length}` : `c${lines.length}.${random.int(99)}`
      const args = random.chance(0.5)
        ? { command: random.chance(0.5) ? random.pick(COMMANDS) : any() }
        : { path: any(), edits: [{ oldText: any(), newText: any() }], deep: { password: any(), n: 1.5 } }
      return { type: "toolCall", id, name: random.pick(["bash", "edit"]), arguments: args }
    })
    const blocks = [
      ...(random.chance(0.5) ? [{ type: "thinking", thinking: any(), thinkingSignature: any() }] : []),
      ...(random.chance(0.8) ? [{ type: "text", text: any() }] : []),
      ...calls
    ]
    add({
      type: "message",
      message: { role: "assistant", content: blocks, ...model, stopReason: calls.length > 0 ? "toolUse" : "stop" }
    })
    for (const { id, name } of calls) {
      const image = { type: "image", data: "iVBORw0KGgo".repeat(40), mimeType: "image/png" }
      const content = [
        { type: "text", text: any() },
        ...(random.chance(0.1) ? [image, { type: "text", text: any() }] : [])
      ]
      add({
        type: "message",
        message: { role: "toolResult", toolCallId: id, toolName: name, content, isError: random.chance(0.2) }
      })
    }
  }
  if (random.chance(0.2))
    add({ type: "context_edit", targetId: `e${1 + random.int(lines.length - 1)}`, replacement: { content: any() } })
  add({
    type: "message",
    message: { role: "assistant", content: [{ type: "text", text: any() }], ...model, stopReason: "stop" }
  })
  const spell = random.chance(0.3) ? random.pick(SPELLINGS) : (json: string) => json
  return Session.readText(lines.map((line) => `${spell(JSON.stringify(line))}\n`).join(""))
}

/** How other programs write JSON; one of them breaks it. */
const SPELLINGS: readonly [(json: string) => string, ...ReadonlyArray<(json: string) => string>] = [
  (json) => json.replaceAll("x", "\\u0078"),
  (json) => json.replaceAll("I", "\\u0049").replaceAll('":', '" : '),
  (json) => json.replaceAll("t", "\\u0074"),
  // One UTF-16 unit after the other.
  (json) => json.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
]

const selected = {
  ref: { path: "/home/martha/.pi/s.jsonl", sizeBytes: 1, modifiedMs: 0 },
  sessionId: "s",
  timestamp: "",
  role: { role: "unknown", roleSource: "none" }
} as const

/** What comes of a session: its lines, what the report says of it, and the keys of its targets. */
const made = (cut: CutSession, options: SampleOptions) => {
  const distinct = new DistinctTargets()
  const redactor =
    options.redaction === "off" ? undefined : new Redactor({ placeholders: new Placeholders("0".repeat(64)) })
  const { lines, row, sessionLine } = toLines(cut, { distinct, redactor, fingerprints: new Set() }, options)
  const told = lines.map(({ line, ...rest }) => ({ ...rest, line: Buffer.from(line).toString() }))
  return { lines: told, row, sessionLine, keys: distinct.newKeys() }
}

const compare = (session: Session.Session, options: SampleOptions, name: string): { readonly spliced: number } => {
  const cut = cutSession(session, selected, options, new Map())
  const whole = ofCut(session, cutOf(session, selected, options, new Map()), selected, options)
  assert.deepStrictEqual(made(cut, options), made(whole, options), name)
  return { spliced: cut.texts === undefined ? 0 : 1 }
}

const optionsOf = (format: FormatName, random: Random): SampleOptions => ({
  format,
  branches: random.pick(["active", "all"]),
  reasoning: random.pick(["all", "last-query", "none"]),
  redaction: random.chance(0.5) ? "off" : { key: "0".repeat(64) },
  includeHydrated: true,
  ...(random.chance(0.2) ? { maxTokens: 2000, overflow: random.pick(["window", "elide-results"]) } : {}),
  ...(random.chance(0.1) ? { lengths: true } : {})
})

describe("long texts set aside", () => {
  it("give the same lines in every format, redacted or not", () => {
    let spliced = 0
    for (let seed = SEED; seed < SEED + 40 * WALKS; seed++) {
      const random = SeededRandom.make(seed)
      const session = sessionOf(random)
      const format = random.chance(0.4) ? "messages" : SAMPLE_FORMATS[random.int(SAMPLE_FORMATS.length)]
      const options = optionsOf(format ?? "messages", random)
      spliced += compare(session, options, `seed ${seed}, ${JSON.stringify(options)}`).spliced
    }
    assert.isAbove(spliced, 30 * WALKS)
  })

  it.effect(
    "give the same lines of sessions of both real Pis",
    () =>
      Effect.gen(function* () {
        const root = yield* temporaryFolder
        for (const version of ["0.78", "1.5"] as const) {
          for (let seed = SEED; seed < SEED + WALKS; seed++) {
            const random = SeededRandom.make(seed)
            const dir = `${root}/${version}-${seed}`
            const walk = yield* Effect.promise(() =>
              SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/project" })
            )
            for (const path of walk.files) {
              const session = Session.read(Fs.readFileSync(path))
              for (const format of ["messages", "axolotl"] as const) {
                compare(session, optionsOf(format, random), `Pi ${version}, seed ${seed}, ${format}`)
              }
            }
          }
        }
      }).pipe(Effect.scoped),
    600_000
  )
})

const accepts = (schema: Schema.Decoder<unknown>) => {
  const decode = SchemaParser.decodeUnknownResult(schema, { onExcessProperty: "error" })
  return (value: unknown) => Result.isSuccess(decode(value))
}

it("the quick schema of messages accepts what the full schema accepts", () => {
  const byRule = accepts(Schema.NonEmptyArray(ChatMessage))
  const quickly = accepts(QuickMessages)
  const good = [
    { role: "system", content: "" },
    { role: "user", content: "a" },
    { role: "assistant", content: "a" },
    {
      role: "assistant",
      content: "a",
      reasoning_content: "b",
      tool_calls: [{ id: "1", type: "function", function: { name: "n", arguments: {} } }]
    },
    { role: "tool", tool_call_id: "1", name: "n", content: "" }
  ]
  const values = [undefined, null, 0, "", "x", [], {}, [null], [{}], { a: 1 }, "tool", "function"]
  let taken = 0
  const check = (value: unknown): void => {
    assert.strictEqual(quickly(value), byRule(value), JSON.stringify(value))
    if (byRule(value)) taken++
  }
  /** The value with each of its members, at any depth, taken out, replaced, or joined by another. */
  const changes = (value: unknown): ReadonlyArray<unknown> => {
    if (Array.isArray(value)) {
      return [
        ...values,
        ...value.flatMap((one, at) => changes(one).map((other) => value.with(at, other))),
        [...value, ...value]
      ]
    }
    if (typeof value !== "object" || value === null) return values
    const members = Object.entries(value)
    return [
      ...values,
      ...members.map(([key]) => Object.fromEntries(members.filter(([other]) => other !== key))),
      { ...value, more: 1 },
      ...members.flatMap(([key, member]) => changes(member).map((other) => ({ ...value, [key]: other })))
    ]
  }
  check(good)
  for (const other of changes(good)) check(other)
  assert.isAbove(taken, 10)
})
