/** Lone surrogates are removed from samples wherever both real Pis remove them from requests. */
import { assert, describe, it } from "@effect/vitest"
import { versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ProviderLayer from "@pi-sessions/testing/pi/ProviderLayer"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as Session from "@pi-sessions/core/Session"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import * as SampleCut from "../src/SampleCut.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { SessionImages } from "../src/SessionImages.ts"
import { assistant, call, chain, message, result, text, user } from "./support/sessions.ts"
import { partsOf } from "./support/sentParts.ts"

const UNITS = ["\ud83d", "\ude00", "\udbff", "\udc00", "a", " ", "\ufffd", "\ud83d\ude00"] as const

describe("WellFormed.text", () => {
  it.each(versions)("gives the text that the real Pi %s sends, for random sequences of surrogates", async (version) => {
    const random = SeededRandom.make(1)
    const texts = Array.from({ length: 2000 }, () =>
      Array.from({ length: 1 + random.int(8) }, () => random.pick(UNITS)).join("")
    )
    // With a character on each side, because layers drop blank texts.
    const messages = texts.map((text) => ({ role: "user", content: `<${text}>`, timestamp: 1 }))
    const sent = partsOf(await ProviderLayer.payload(version, "openai-completions", { messages }))
    assert.deepStrictEqual(
      texts.map((text) => WellFormed.text(`<${text}>`)),
      sent.map(({ text }) => text)
    )
    for (const text of texts) assert.isTrue(WellFormed.text(text).isWellFormed())
  })

  it("accepts 4 million lone surrogates", () => {
    for (const half of ["\ud83d", "\udc00", "a\ud83d", "\udc00a"]) {
      assert.strictEqual(WellFormed.text(half.repeat(4_000_000 / half.length)).replaceAll("a", ""), "")
    }
  })
})

const cut = (session: string, images?: SessionImages) =>
  SampleCut.cut(Session.readText(session), {
    sourcePath: "/s.jsonl",
    role: { role: "unknown", roleSource: "none" },
    tools: [],
    ...(images === undefined ? {} : { images })
  }).samples

describe("a sample of a session with lone surrogates", () => {
  it("has texts without them, block by block, and is exact", () => {
    const [sample] = cut(
      chain(
        user("half \ud83d"),
        assistant([text("one \ud83d"), text("\ude00 two"), call("a")]),
        result("a", "\ude00 cut"),
        assistant([{ type: "thinking", thinking: "h\ud83dm" }, text("done")])
      )
    )
    assert.deepStrictEqual(
      sample?.turns.map(({ content, tool_results }) => content + tool_results.map((one) => one.content).join("")),
      ["half ", "one  two", " cut", "done"]
    )
    assert.strictEqual(sample?.turns.at(-1)?.metadata.reasoning, "hm")
    assert.strictEqual(sample?.metadata.context, "exact")
  })

  it("has no target that becomes empty", () => {
    const session = chain(
      user("go"),
      assistant([text("\ud83d")]),
      user("again"),
      assistant([text("first")]),
      user("\udc00"),
      assistant([text("second")])
    )
    const [sample, ...others] = cut(session)
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(
      sample?.turns.slice(sample.first_target).map(({ content }) => content),
      ["first", "second"]
    )
    assert.deepInclude(sample?.metadata, { targets: 2, context_answers: 0, context: "reduced" })
    assert.deepStrictEqual(sample?.metadata.dropped, { empty_assistant_turn: 1, empty_user_turn: 1 })
  })

  it("is reduced if Pi sends them: in arguments, names and ids", () => {
    for (const odd of [
      call("a", "read", { x: ["\ud83d"] }),
      call("a", "read", { "\ud83d": 1 }),
      call("a", "re\ud83d")
    ]) {
      const [sample] = cut(chain(user("go"), assistant([odd]), result("a", "x"), assistant([text("done")])))
      assert.deepStrictEqual(sample?.metadata.dropped, { lone_surrogate: 1 })
      assert.strictEqual(sample?.metadata.context, "reduced")
      assert.isTrue(WellFormed.isWellFormed(JSON.parse(JSON.stringify(sample))))
    }
  })

  it("keeps results with their calls if ids differ only in them", () => {
    const [sample] = cut(
      chain(
        user("go"),
        assistant([call("a\ud800"), call("a\ud801")]),
        result("a\ud801", "second"),
        result("a\ud800", "first"),
        assistant([text("done")])
      )
    )
    const calls = sample?.turns[1]?.tool_calls.map(({ id }) => id) ?? []
    assert.strictEqual(new Set(calls).size, 2)
    const results = new Map(sample?.turns[2]?.tool_results.map((one) => [one.tool_call_id, one.content]))
    assert.deepStrictEqual(
      calls.map((id) => results.get(id)),
      ["first", "second"]
    )
  })

  it("escapes a mark of an image that their removal creates", () => {
    const [sample] = cut(chain(user("[im\ud83dage]"), assistant([text("done")])), new SessionImages())
    assert.strictEqual(sample?.turns[0]?.content, "[ image ]")
    assert.deepStrictEqual(sample?.metadata.dropped, { escaped_mark: 1 })
  })

  it("declares tools without them", () => {
    const toolsAdded = [{ name: "read", description: "re\ud83dads", parameters: { type: "object" } }]
    const system = message({ role: "system", content: "You\ud83d are", toolsAdded, timestamp: 1 })
    const [sample] = cut(chain(system, user("go"), assistant([text("done")])))
    assert.strictEqual(sample?.turns[0]?.content, "You are")
    assert.strictEqual(sample?.tools[0]?.description, "reads")
  })
})

describe("redaction of a text with lone surrogates", () => {
  const scope = () => new Redactor({ placeholders: new Placeholders("k") }).scope([])
  const token = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`

  it("removes a secret that one of them splits, and keeps other texts", () => {
    for (const at of [2, 4, 10, 39]) {
      const split = `push with ${token.slice(0, at)}\ud83d${token.slice(at)} now`
      assert.match(scope().text(split), /^push with \[REDACTED:github-pat:\d+\] now$/u, String(at))
    }
    assert.match(scope().text(`\ud83d ${token}\udc00`), /^\ud83d? ?\[REDACTED:github-pat:\d+\]\udc00?$/u)
    assert.strictEqual(scope().text("half \ud83d of a pair"), "half \ud83d of a pair")
    assert.strictEqual(scope().text(scope().text(`x\ud83d ${token}`)), scope().text(`x\ud83d ${token}`))
  })
})
