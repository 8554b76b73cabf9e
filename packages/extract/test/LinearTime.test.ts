/** Every reader of text of this package needs steps in proportion to the text. */
import { assert, describe, it } from "@effect/vitest"
import { type HostileText } from "@pi-sessions/testing/HostileText"
import { StepCounter } from "@pi-sessions/testing/StepCounter"
import { type TextReader, hostileTexts, sampleOf, steepTexts } from "@pi-sessions/testing/StepGrowth"

const counter = new StepCounter()
const ExactSecrets = await import("@pi-sessions/redaction/ExactSecrets")
const { MinHash } = await import("../src/plan/MinHash.ts")
const { PersonalNames, hostsOf, usersOf } = await import("@pi-sessions/redaction/PersonalNames")
const { Placeholders } = await import("@pi-sessions/redaction/Placeholders")
const { Redactor } = await import("@pi-sessions/redaction/Redactor")
const { REDACTION_RULES } = await import("@pi-sessions/redaction/RedactionRules")
const { SecretScanner } = await import("@pi-sessions/redaction/SecretScanner")
const { TextHash } = await import("@pi-sessions/samples/TextHash")
const { DropTally } = await import("@pi-sessions/samples/DropCounts")
const { closedBead, madeCommit, testsPassed } = await import("../../samples/src/internal/agentCommands.ts")
const { isCorrection } = await import("../../samples/src/internal/corrections.ts")
const { imageKind } = await import("@pi-sessions/samples/ImageKind")
const JsonStrings = await import("@pi-sessions/redaction/JsonStrings")
const { scoreOf } = await import("../../formats/src/lora-forge/loraForgeQuality.ts")
const LoraForgeText = await import("../../formats/src/lora-forge/loraForgeText.ts")
const { OpenCalls } = await import("../../samples/src/internal/openCalls.ts")
const SecretShape = await import("../../redaction/src/internal/secretShape.ts")
const { commandsOf } = await import("../../samples/src/internal/shellCommands.ts")
const { withoutMarks } = await import("../../formats/src/chat/turnGroups.ts")

const known = ExactSecrets.fromValues(["correct-horse-battery", "aaaaaaaaaaaa", "\\\\\\\\\\\\\\\\"]).secrets
const scanner = new SecretScanner({ exact: known })
const redactor = new Redactor({ exact: known, placeholders: new Placeholders("key") })

/** Words of a text, each made different. */
const words = (text: string): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / 8) }, (_, at) => `${text.slice(at * 8, at * 8 + 4)}${at}`)

const shapes = Object.entries(SecretShape).flatMap(([name, shape]): ReadonlyArray<TextReader> => [
  { name: `secretShape.${name}`, read: (text) => shape(text) }
])

const readers: ReadonlyArray<TextReader> = [
  { name: "commandsOf", read: (text) => commandsOf(text) },
  {
    name: "testsPassed: the line",
    read: (line) => testsPassed({ line: `npm test ${line}`, isError: false, output: () => "" })
  },
  {
    name: "testsPassed, madeCommit, closedBead: what is printed",
    length: 128,
    read: (text) => {
      for (const isError of [false, true]) {
        for (const print of [
          text,
          `passed ${text}`,
          text.replaceAll(/.{9}/gsu, "\rClosed [a "),
          text.replaceAll(/.{4}/gsu, "\n[a 1")
        ]) {
          const output = (): string => print
          testsPassed({ line: "npm test | cat", isError, output })
          madeCommit({ line: "git commit | cat", isError, output })
          closedBead({ line: "bd close a | cat", isError, output })
        }
      }
    }
  },
  { name: "isCorrection", read: (text) => isCorrection(`no, ${text}`, () => `?${text}`) },
  { name: "SecretScanner.find", read: (text) => scanner.find(text) },
  {
    name: "SecretScanner.underKey",
    read: (text) => [scanner.underKey("password", text), scanner.underKey(text, "aB3$aB3$")]
  },
  { name: "RedactionScope.text", read: (text) => redactor.scope(["/home/annabel/x"], [text]).text(text) },
  {
    name: "RedactionScope.json",
    most: 4000,
    read: (text) => redactor.scope([]).json({ [text]: text, password: text, name: text, value: text })
  },
  {
    name: "PersonalNames.find",
    read: (text) => new PersonalNames({ users: ["annabel", "al"], hosts: ["lapland", "a"] }).find(text)
  },
  { name: "usersOf", read: (text) => usersOf([text, `/home/${text}`]) },
  { name: "hostsOf", read: (text) => hostsOf(["a"], [text, text.replaceAll(/.{3}/gsu, "a@b")]) },
  { name: "ExactSecrets.fromFile", read: (text) => ExactSecrets.fromFile("f", text), most: 4000 },
  {
    name: "ExactSecrets.fromFile: a variable",
    read: (text) => ExactSecrets.fromFile("f", `A_KEY=a ${text}`),
    most: 4000
  },
  {
    name: "ExactSecrets.fromFile: JSON",
    read: (text) => ExactSecrets.fromFile("f", JSON.stringify({ token: text })),
    most: 4000
  },
  ...shapes,
  {
    name: "jsonStrings.rewrite",
    read: (text) =>
      JsonStrings.rewrite(
        JSON.stringify({
          [text]: text,
          words: words(text),
          ...Object.fromEntries(words(text).map((word) => [word, text.slice(0, 9)]))
        }),
        {
          key: (_, before) => before.unused("k"),
          value: (value) => `${value}.`
        }
      )
  },
  { name: "MinHash", read: (text) => new MinHash().add(text) },
  { name: "TextHash", read: (text) => new TextHash().add(text) },
  { name: "loraForgeText.plain", read: (text) => LoraForgeText.plain(text, new DropTally()) },
  {
    name: "loraForgeText.mcpServerOf",
    read: (text) => [LoraForgeText.mcpServerOf(`mcp__${text}`), LoraForgeText.mcpServerOf(`mcp_${text}`)]
  },
  {
    name: "loraForgeText.callText",
    read: (text) => LoraForgeText.callText({ id: text, name: text, arguments: { [text]: text } })
  },
  {
    name: "loraForgeText.resultText",
    read: (text) =>
      LoraForgeText.resultText({ tool_call_id: text, tool_name: text, content: text, is_error: false }, new DropTally())
  },
  {
    name: "loraForgeText.callsIn, resultsIn",
    read: (text) => {
      const open = text.replaceAll(/[^]{40}/gu, '<tool_result tool_use_id="a">\n')
      return [text, open, open.replaceAll("result", "call")].map((one) => [
        LoraForgeText.callsIn(one),
        LoraForgeText.resultsIn(one)
      ])
    }
  },
  {
    name: "loraForgeQuality.scoreOf",
    read: (text) =>
      scoreOf([
        { role: "user", text: `let me check ${text}`, calls: 0 },
        { role: "assistant", text: `no ${text}`, calls: 0 }
      ])
  },
  { name: "withoutMarks", read: (text) => withoutMarks(text) },
  { name: "imageKind", read: (text) => imageKind(text) }
]

/** Readers for which only the length of the text matters. */
const readersOfMany: ReadonlyArray<TextReader> = [
  {
    name: "RedactionScope.object, jsonStrings.rewrite: keys that get one name",
    read: (text) => {
      // One address in different case.
      const keys = words(text).map((_, at) => {
        const local = Array.from("annabelletheridge", (letter, bit) =>
          (at >> bit) & 1 ? letter.toUpperCase() : letter
        )
        return `${local.join("")}@company.io`
      })
      const object = Object.fromEntries(keys.map((key) => [key, "a"]))
      const redacted = redactor.scope([]).object(object)
      assert.isTrue(Object.keys(redacted).includes(`${Object.keys(redacted)[0] ?? ""} (${keys.length})`))
      JsonStrings.rewrite(JSON.stringify(object), { key: (_, before) => before.unused("k"), value: (value) => value })
    }
  },
  {
    name: "PersonalNames.find: many machines",
    read: (text) => {
      const hosts = words(text).map((_, at) => `machine${at}`)
      const prompts = hosts.map((host) => `annabel@${host}:~$ `).join("")
      return new PersonalNames({ users: ["annabel"], hosts: hostsOf(["annabel"], [prompts]) }).find(prompts + text)
    },
    most: 4000
  },
  {
    name: "OpenCalls",
    read: (text) => {
      const calls = words(text).map((word, at) => ({ id: at % 3 === 0 ? "" : "a", name: word.slice(0, 1) }))
      const open = new OpenCalls(calls)
      for (const { id, name } of calls) open.take(id, id === "" ? "" : name)
    }
  }
]

/** For each keyword of a rule: itself, and an assignment to it, again and again. */
const ruleTexts: ReadonlyArray<HostileText> = [...new Set(REDACTION_RULES.flatMap(({ keywords }) => keywords))].flatMap(
  (keyword) =>
    [keyword, `${keyword} = `, `${keyword}="aB3`, `${keyword.toUpperCase()}aB3xY9+/`].map((unit) => ({
      name: JSON.stringify(unit),
      text: (length) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
    }))
)

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })

  it.each(readersOfMany)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts.slice(0, 1)), [])
  })

  it("SecretScanner.find: text that almost matches each rule", async () => {
    const reader = { name: "rules", read: (text: string) => scanner.find(text), most: 4000, length: 1024 }
    assert.deepStrictEqual(await steepTexts(counter, reader, sampleOf(ruleTexts)), [])
  })
})
