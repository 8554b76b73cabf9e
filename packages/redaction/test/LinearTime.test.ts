/** Every reader of text in this package takes steps in proportion to the length of the text. */
import { assert, describe, it } from "@effect/vitest"
import { type HostileText } from "@pi-sessions/testing/steps/HostileText"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, sampleOf, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const ExactSecrets = await import("../src/ExactSecrets.ts")
const JsonStrings = await import("../src/JsonStrings.ts")
const { PersonalNames, hostsOf, usersOf } = await import("../src/PersonalNames.ts")
const { Placeholders } = await import("../src/Placeholders.ts")
const { Redactor } = await import("../src/Redactor.ts")
const { REDACTION_RULES } = await import("../src/RedactionRules.ts")
const { SecretScanner } = await import("../src/SecretScanner.ts")
const SecretShape = await import("../src/internal/secretShape.ts")

const known = ExactSecrets.fromValues(["correct-horse-battery", "aaaaaaaaaaaa", "\\\\\\\\\\\\\\\\"]).secrets
const scanner = new SecretScanner({ exact: known })
const redactor = new Redactor({ exact: known, placeholders: new Placeholders("key") })

/** Pieces of a text, each with a number that makes it unique. */
const words = (text: string): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / 8) }, (_, at) => `${text.slice(at * 8, at * 8 + 4)}${at}`)

const readers: ReadonlyArray<TextReader> = [
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
  { name: "ExactSecrets.fromFile: lines", read: (text) => ExactSecrets.fromFile("f", text), most: 4000 },
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
  ...Object.entries(SecretShape).map(([name, shape]): TextReader => ({
    name: `secretShape.${name}`,
    read: (text) => shape(text)
  })),
  {
    name: "JsonStrings.rewrite",
    read: (text) =>
      JsonStrings.rewrite(
        JSON.stringify({
          [text]: text,
          words: words(text),
          ...Object.fromEntries(words(text).map((word) => [word, text.slice(0, 9)]))
        }),
        { key: (_, before) => before.unused("k"), value: (value) => `${value}.` }
      )
  }
]

/** Readers for which only the length of the text matters. */
const readersOfLength: ReadonlyArray<TextReader> = [
  {
    name: "RedactionScope.object, JsonStrings.rewrite: keys that become equal",
    read: (text) => {
      // The same address in different case.
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
    name: "PersonalNames.find: many hosts",
    read: (text) => {
      const hosts = words(text).map((_, at) => `machine${at}`)
      const prompts = hosts.map((host) => `annabel@${host}:~$ `).join("")
      return new PersonalNames({ users: ["annabel"], hosts: hostsOf(["annabel"], [prompts]) }).find(prompts + text)
    },
    most: 4000
  }
]

/** For each keyword of a rule: the keyword, and an assignment to it, repeated. */
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

  it.each(readersOfLength)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts.slice(0, 1)), [])
  })

  it("SecretScanner.find: text that almost matches each rule", async () => {
    const reader = { name: "rules", read: (text: string) => scanner.find(text), most: 4000, length: 1024 }
    assert.deepStrictEqual(await steepTexts(counter, reader, sampleOf(ruleTexts)), [])
  })
})
