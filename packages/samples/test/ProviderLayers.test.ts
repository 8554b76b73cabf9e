/**
 * The changes that the provider layers of both real Pis make to messages. Each cell of the table in docs/samples.md is
 * compared with the request of the layer.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"
import { type PiVersion, versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ProviderLayer from "@pi-sessions/testing/pi/ProviderLayer"
import { type SentPart, partsOf } from "./support/sentParts.ts"

/** The columns of the table. */
const APIS = [
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "google-generative-ai",
  "mistral-conversations",
  "bedrock-converse-stream"
] as const

interface Case {
  /** The first cell of the row. */
  readonly name: string
  readonly request: (api: ProviderLayer.Api) => ProviderLayer.LayerRequest
  /** Returns the cell for a request. */
  readonly cell: (parts: ReadonlyArray<SentPart>) => string
}

const user = (content: unknown) => ({ role: "user", content, timestamp: 1 })
const text = (text: string) => ({ type: "text", text })
const call = (id: string, args: object = {}) => ({ type: "toolCall", id, name: "read", arguments: args })
const image = { type: "image", data: "aGVsbG8=", mimeType: "image/png" }
const result = (content: ReadonlyArray<object>, id = "c1", isError = false) => {
  return { role: "toolResult", toolCallId: id, toolName: "read", content, isError, timestamp: 3 }
}
/** An answer of the model that is asked, or of another one. */
const answer = (api: string, content: ReadonlyArray<object>, model = "m1") => {
  return { role: "assistant", content, provider: "p", api, model, usage: {}, stopReason: "stop", timestamp: 2 }
}
const signed = (api: string, thinking: string) => ({
  type: "thinking",
  thinking,
  thinkingSignature: api.includes("responses")
    ? JSON.stringify({ type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: thinking }] })
    : "reasoning_content"
})

const of = (parts: ReadonlyArray<SentPart>, kind: SentPart["kind"]) => parts.filter((part) => part.kind === kind)
const quoted = (text: string | undefined): string => (text === undefined ? "left out" : `\`${JSON.stringify(text)}\``)
const halves = (texts: ReadonlyArray<string>): string => {
  if (texts.length === 0) return "not sent"
  if (texts.every((text) => text.includes("ab") && text.isWellFormed())) return "removed"
  return texts.every((text) => /a(?:\ud83d|\\+ud83d)b/u.test(text)) ? "sent" : `other: ${JSON.stringify(texts)}`
}
const HALF = "a\ud83db"
const called = (api: string, content: ReadonlyArray<object>, isError = false) => ({
  messages: [user("go"), answer(api, [call("c1")]), result(content, "c1", isError)]
})
const resultCell = (parts: ReadonlyArray<SentPart>): string => quoted(of(parts, "result")[0]?.text)
const LONG = "call_".padEnd(80, "x")
const CASES: ReadonlyArray<Case> = [
  {
    name: "lone surrogates in prompts and texts",
    request: (api) => ({
      systemPrompt: HALF,
      messages: [user(HALF), answer(api, [text(HALF), call("c1")]), result([text(HALF)]), user([text(HALF)])]
    }),
    cell: (parts) => {
      const texts = parts.filter(({ kind }) => ["system", "user", "answer", "result"].includes(kind))
      assert.isAtLeast(texts.length, 5)
      return halves(texts.map(({ text }) => text))
    }
  },
  {
    name: "lone surrogates in thinking",
    request: (api) => ({ messages: [user("go"), answer(api, [signed(api, HALF), text("x")]), user("on")] }),
    cell: (parts) => halves(of(parts, "thinking").map(({ text }) => text))
  },
  {
    name: "lone surrogates in arguments",
    request: (api) => ({ messages: [user("go"), answer(api, [call("c1", { x: HALF })]), result([text("x")])] }),
    cell: (parts) => halves(of(parts, "call").map(({ text }) => text))
  },
  { name: "tool result without content", request: (api) => called(api, []), cell: resultCell },
  { name: "tool result of a blank", request: (api) => called(api, [text(" ")]), cell: resultCell },
  {
    name: "tool result of an image alone",
    request: (api) => called(api, [image]),
    cell: (parts) => {
      const images = of(parts, "image")
      assert.strictEqual(images.length, 1)
      const beside =
        images[0]?.inResult === true ? "image in it" : `then user ${quoted(of(parts, "user").at(-1)?.text)}`
      return `${resultCell(parts)}, ${beside}`
    }
  },
  {
    name: 'failed tool result `" boom "`',
    request: (api) => called(api, [text(" boom ")], true),
    cell: (parts) => `${resultCell(parts)}, ${of(parts, "result")[0]?.isError === true ? "marked" : "no mark"}`
  },
  {
    name: "two tool results in a row",
    request: (api) => ({
      messages: [user("go"), answer(api, [call("c1"), call("c2")]), result([text("x")]), result([text("y")], "c2")]
    }),
    cell: (parts) => (new Set(of(parts, "result").map(({ at }) => at)).size === 1 ? "one message" : "two messages")
  },
  {
    name: "call id `c1\\|fc_+/=` of another model",
    request: (api) => ({
      messages: [user("go"), answer(api, [call("c1|fc_+/=")], "m0"), result([text("x")], "c1|fc_+/=")]
    }),
    cell: (parts) => {
      const [id] = of(parts, "call").map((part) => part.id)
      assert.strictEqual(of(parts, "result")[0]?.id, id)
      return id === "" ? "left out" : /^[a-z0-9]{9}$/u.test(id ?? "") ? "9 letters and digits" : `\`${id}\``
    }
  },
  {
    name: "call id of 80 characters of another model",
    request: (api) => ({
      model: { provider: "openai" },
      messages: [user("go"), answer(api, [call(LONG)], "m0"), result([text("x")], LONG)]
    }),
    cell: (parts) => {
      const [id = ""] = of(parts, "call").map((part) => part.id)
      if (id === "") return "left out"
      return LONG.startsWith(id) ? `first ${id.length}` : /^[a-z0-9]{9}$/u.test(id) ? "9 letters and digits" : id
    }
  },
  {
    name: "call id with `\\|` of the model itself",
    request: (api) => ({ messages: [user("go"), answer(api, [call("c1|fc_1")]), result([text("x")], "c1|fc_1")] }),
    cell: (parts) => {
      const [id = ""] = of(parts, "call").map((part) => part.id)
      return id === "" ? "left out" : `\`${id.replace("|", "\\|")}\``
    }
  },
  {
    name: "user message without text",
    request: () => ({ messages: [user("go"), user([text("")])] }),
    cell: (parts) => quoted(of(parts, "user")[1]?.text)
  },
  {
    name: "user message of a blank",
    request: () => ({ messages: [user("go"), user(" ")] }),
    cell: (parts) => quoted(of(parts, "user")[1]?.text)
  },
  {
    name: "empty text block of a user message",
    request: () => ({ messages: [user([text("x"), text(""), text("y")])] }),
    cell: (parts) => (of(parts, "user").length === 2 ? "left out" : quoted(of(parts, "user")[1]?.text))
  },
  {
    name: "blank text block of an answer",
    request: (api) => ({ messages: [user("go"), answer(api, [text("x"), text(" "), text("y")]), user("on")] }),
    cell: (parts) => {
      const told = of(parts, "answer").map(({ text }) => text)
      return told.join("") === "xy" ? "left out" : quoted(told.join(""))
    }
  },
  {
    name: "answer that only thinks",
    request: (api) => ({ messages: [user("go"), answer(api, [signed(api, "hm")]), user("on")] }),
    cell: (parts) => (of(parts, "thinking").length + of(parts, "answer").length === 0 ? "left out" : "sent")
  },
  {
    name: "thinking without a signature",
    request: (api) => ({
      messages: [user("go"), answer(api, [{ type: "thinking", thinking: "hm" }, text("x")]), user("on")]
    }),
    cell: (parts) =>
      of(parts, "thinking").length > 0
        ? "sent"
        : of(parts, "answer").some(({ text }) => text === "hm")
          ? "as text"
          : "left out"
  }
]

const rowOf = async ({ cell, name, request }: Case): Promise<ReadonlyArray<string>> => {
  const cells = APIS.map(async (api) => {
    const said = versions.map(async (version) => cell(partsOf(await ProviderLayer.payload(version, api, request(api)))))
    const [older, newer] = await Promise.all(said)
    return older === newer ? String(older) : `0.78: ${older}; 1.5: ${newer}`
  })
  return [name, ...(await Promise.all(cells))]
}

const DOCS = new URL("../../../docs/samples.md", import.meta.url)

/** The rows of the tables in the documentation. */
const documented = (): ReadonlyArray<ReadonlyArray<string>> =>
  Fs.readFileSync(DOCS, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/u)
        .map((cell) => cell.trim())
    )

describe("the provider layers", () => {
  it("are the columns of the documentation", () => {
    assert.deepInclude(documented(), ["", ...APIS.map((api) => `\`${api}\``)])
  })

  it.each(CASES)("change as documented: $name", async (one) => {
    const row = await rowOf(one)
    const found = documented().find(([name]) => name === one.name)
    assert.deepStrictEqual(found, row, `| ${row.join(" | ")} |`)
  })

  it.each(versions)("of Vertex and Azure equal those of Google and OpenAI (Pi %s)", async (version: PiVersion) => {
    for (const [api, same] of [
      ["google-vertex", "google-generative-ai"],
      ["azure-openai-responses", "openai-responses"]
    ] as const) {
      for (const { name, request } of CASES) {
        const own = partsOf(await ProviderLayer.payload(version, api, request(api)))
        assert.deepStrictEqual(
          own,
          partsOf(await ProviderLayer.payload(version, same, request(same))),
          `${api}: ${name}`
        )
      }
    }
  })
})
