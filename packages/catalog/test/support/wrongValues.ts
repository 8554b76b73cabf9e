/**
 * Sessions with one wrong value each: every wrong value, in every field of every block type, message role and entry
 * type. Texts that Pi must send are marked as `<text>`, so that a lost one can be named.
 */
import { type Json, type JsonObject, isArray, isObject, objectAt } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"

/**
 * What follows the wrong entry. `usage`: an answer with a usage. `noUsage`: nothing, and no answer has a usage.
 * `failed`: a failed turn. Without a usage Pi counts tokens itself, and so reads texts.
 */
type Tail = "usage" | "noUsage" | "failed"
const tails: ReadonlyArray<Tail> = ["usage", "noUsage", "failed"]

export interface WrongCase {
  readonly name: string
  /** The first line, without its directory. */
  readonly header: JsonObject
  readonly entries: ReadonlyArray<JsonObject>
  /** The marks that Pi's request must contain. */
  readonly words: { readonly [version in PiProfile]: ReadonlyArray<string> }
}

const timestamp = "2026-01-01T00:00:00.000Z"
const time = Date.parse(timestamp)
const IMAGE = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }
const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 }
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }

const message = (members: JsonObject): JsonObject => ({ type: "message", message: { ...members, timestamp: time } })

const assistant = (content: Json, more: JsonObject = {}): JsonObject =>
  message({
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "fake",
    model: "fake-1",
    usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost },
    stopReason: "stop",
    ...more
  })

const call = { type: "toolCall", id: "call_1", name: "bash", arguments: { command: "<ls>" } }
const result = (content: Json): JsonObject =>
  message({ role: "toolResult", toolCallId: "call_1", toolName: "bash", content, isError: false, details: { n: 1 } })
const text = (word: string): JsonObject => ({ type: "text", text: word })

interface Template {
  readonly name: string
  /** Sound entries before the one with the wrong value. */
  readonly before?: ReadonlyArray<JsonObject>
  readonly entry: JsonObject
  readonly after?: ReadonlyArray<JsonObject>
}

const templates: ReadonlyArray<Template> = [
  { name: "user text", entry: message({ role: "user", content: "<asked>" }) },
  {
    name: "user blocks",
    entry: message({ role: "user", content: [{ ...text("<asked>"), textSignature: "s" }, IMAGE, text("<twice>")] })
  },
  {
    name: "assistant",
    entry: assistant([{ type: "thinking", thinking: "<hm>" }, text("<said>"), call], { stopReason: "toolUse" }),
    after: [result([text("<got>")])]
  },
  {
    name: "assistant with signatures",
    entry: assistant(
      [
        { type: "thinking", thinking: "<hm>", thinkingSignature: "reasoning_content", redacted: false },
        { ...text("<said>"), textSignature: "s" },
        { ...call, thoughtSignature: "{}", namespace: "n", argumentsError: "e" }
      ],
      { responseId: "r", responseModel: "m", thinkingLevel: "low", durationMs: 1, diagnostics: [] }
    ),
    after: [result([text("<got>")])]
  },
  {
    name: "redacted thinking",
    entry: assistant([{ type: "thinking", thinking: "", thinkingSignature: "x", redacted: true }, text("<said>")])
  },
  {
    name: "failed assistant",
    entry: assistant([text("<half>"), { ...call, arguments: { command: "ls" } }], {
      stopReason: "error",
      errorMessage: "no network"
    })
  },
  {
    name: "tool result",
    before: [assistant([text("<calls>"), call], { stopReason: "toolUse" })],
    entry: result([text("<got>"), IMAGE, text("<more>")])
  },
  {
    name: "second tool result",
    before: [
      assistant([call, { ...call, id: "call_2", name: "read" }], { stopReason: "toolUse" }),
      result([text("<first>")])
    ],
    entry: message({ role: "toolResult", toolCallId: "call_2", toolName: "read", content: [text("<second>")] })
  },
  {
    name: "bashExecution",
    entry: message({
      role: "bashExecution",
      command: "<ran>",
      output: "<printed>",
      exitCode: 1,
      cancelled: false,
      truncated: true,
      fullOutputPath: "/tmp/full",
      excludeFromContext: false
    })
  },
  {
    name: "bashExecution out of context",
    entry: message({ role: "bashExecution", command: "ran", output: "printed", excludeFromContext: true })
  },
  {
    name: "custom role",
    entry: message({ role: "custom", customType: "t", content: [text("<noted>")], display: true, details: {} })
  },
  {
    name: "system",
    entry: message({
      role: "system",
      content: "be <brief>",
      sections: { a: "b", c: null },
      toolsAdded: [{ name: "t", description: "d", parameters: {} }],
      toolsRemoved: [{ name: "u" }]
    })
  },
  {
    name: "custom_message text",
    entry: { type: "custom_message", customType: "t", content: "<noted>", display: true, details: {} }
  },
  {
    name: "custom_message blocks",
    entry: { type: "custom_message", customType: "t", content: [text("<noted>"), IMAGE], display: false }
  },
  {
    name: "compaction",
    entry: {
      type: "compaction",
      summary: "<summed>",
      firstKeptEntryId: "a0",
      tokensBefore: 100,
      details: { readFiles: ["a"] },
      fromHook: false,
      usage: { ...NO_TOKENS, cost }
    }
  },
  { name: "branch_summary", entry: { type: "branch_summary", fromId: "a0", summary: "<summed>", details: {} } },
  {
    name: "context_edit of a user message",
    before: [message({ role: "user", content: "<unedited>" })],
    entry: { type: "context_edit", targetId: "b0", replacement: { content: [text("<edited>"), IMAGE] } }
  },
  {
    name: "context_edit of an answer",
    before: [assistant([text("<unedited>")])],
    entry: { type: "context_edit", targetId: "b0", replacement: { content: [text("<edited>")] } }
  },
  { name: "label", entry: { type: "label", targetId: "u0", label: "l" } },
  { name: "session_info", entry: { type: "session_info", name: "n" } },
  { name: "custom", entry: { type: "custom", customType: "t", data: { a: 1 } } },
  { name: "model_change", entry: { type: "model_change", provider: "fake", modelId: "fake-1" } },
  { name: "thinking_level_change", entry: { type: "thinking_level_change", thinkingLevel: "low" } },
  {
    name: "usage",
    entry: { type: "usage", kind: "k", provider: "fake", model: "fake-1", usage: { ...NO_TOKENS, cost }, note: "n" }
  }
]

/** Undefined removes the field. */
const wrongValues: ReadonlyArray<readonly [string, Json | undefined]> = [
  ["missing", undefined],
  ["null", null],
  ["true", true],
  ["number", 471_101],
  ["zero", 0],
  ["empty text", ""],
  ["text", "<wrong>"],
  ["array of text", ["<wrong>", "<wrung>"]],
  ["nested array", [[text("<wrong>")], ["<wrung>"]]],
  ["block", text("<wrong>")],
  ["array of block", [text("<wrong>")]],
  ["typeless block", { text: "<wrong>" }],
  ["nested content", { type: "note", content: [text("<wrong>"), "<wrung>"] }],
  ["toString", { toString: 1 }],
  ["array of toString", [{ toString: 1 }]],
  ["empty object", {}],
  ["empty array", []]
]

type Path = ReadonlyArray<string | number>

/** Members with arbitrary content of tools, extensions and providers. */
const OPAQUE = new Set<string | number>(["arguments", "details", "data", "cost", "parameters"])

const pathsOf = (value: Json | undefined, path: Path = []): ReadonlyArray<Path> => {
  if (isArray(value)) return value.flatMap((inner, at) => [[...path, at], ...pathsOf(inner, [...path, at])])
  if (value === undefined || !isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    [...path, key],
    ...(OPAQUE.has(key) ? [] : pathsOf(inner, [...path, key]))
  ])
}

const replaced = (value: Json | undefined, [key, ...rest]: Path, by: Json | undefined): Json | undefined => {
  if (key === undefined) return by
  if (isArray(value)) {
    const changed = value.map((inner, at) => (at === key ? replaced(inner, rest, by) : inner))
    return changed.filter((inner) => inner !== undefined)
  }
  if (value === undefined || !isObject(value)) return value
  const changed = { ...value, [key]: replaced(value[key], rest, by) }
  return Object.fromEntries(Object.entries(changed).filter(([, inner]) => inner !== undefined))
}

const marksOf = (value: Json | undefined): ReadonlyArray<string> =>
  JSON.stringify(value ?? null).match(/<[a-z]+>/g) ?? []

/** Members whose text the model reads. */
const TEXTS = new Set<string | number>(["content", "text", "thinking", "command", "output", "summary", "replacement"])

/** Whether a text at this path must be sent. */
const isText = (path: Path): boolean => {
  if (path.includes("usage")) return false
  if (path.includes("sections")) return false
  const last = path.findLast((key) => typeof key === "string")
  return TEXTS.has(last ?? "") || (last === "message" && path.length === 1)
}

const prefix = (tail: Tail): ReadonlyArray<JsonObject> => [
  message({ role: "user", content: "<hello>" }),
  assistant([text("<hi>")], tail === "noUsage" ? { usage: NO_TOKENS } : {})
]

const suffix = (tail: Tail): ReadonlyArray<JsonObject> => {
  switch (tail) {
    case "usage":
      return [message({ role: "user", content: "<and>" }), assistant([text("<so>")])]
    case "noUsage":
      return []
    case "failed":
      return [
        message({ role: "user", content: "<and>" }),
        assistant([], { stopReason: "error", errorMessage: "no", usage: NO_TOKENS })
      ]
  }
}

const chained = (entries: ReadonlyArray<readonly [string, JsonObject]>): ReadonlyArray<JsonObject> =>
  entries.map(([id, entry], at) => ({ id, parentId: entries[at - 1]?.[0] ?? null, timestamp, ...entry }))

const numbered = (letter: string, entries: ReadonlyArray<JsonObject>) =>
  entries.map((entry, at) => [`${letter}${at}`, entry] as const)

const withoutUsage = (entry: JsonObject): JsonObject => {
  const inner = entry["message"]
  return isObject(inner) && inner["usage"] !== undefined ? { ...entry, message: { ...inner, usage: NO_TOKENS } } : entry
}

const expected = (
  { name, before = [], after = [] }: Template,
  tail: Tail,
  path: Path,
  wrong: JsonObject,
  version: PiProfile
): ReadonlyArray<string> => {
  const inner = wrong["message"]
  const isCalled = after.length === 0 || (isObject(inner) && isArray(inner["content"]) && inner["content"].some(isCall))
  // The repair moves a result aside if its call is unreadable.
  const others = [...prefix(tail), ...before, ...(isCalled ? after : []), ...suffix(tail)].flatMap(marksOf)
  const all = marksOf(withoutThinking(wrong))
  const own = isText(path) ? all : all.filter((mark) => mark !== "<wrong>" && mark !== "<wrung>")
  if (isObject(inner)) {
    if (inner["excludeFromContext"] && path.at(-1) !== "role") return others
    const { toolCallId } = inner
    // The repair moves the result of another call aside.
    if (typeof toolCallId === "string" && toolCallId !== "" && !toolCallId.startsWith("call_")) return others
    if (name === "failed assistant" && inner["stopReason"] === "error") return others
    if (version === "0.78" && (inner["role"] === "system" || inner["sections"] !== undefined)) return others
  }
  if (wrong["type"] === "context_edit") return edited(others, own, wrong, version)
  if (wrong["type"] === "compaction") {
    const { firstKeptEntryId: first, summary } = wrong
    const isSummary = typeof summary === "string" || own.length > 0 || isTextual(summary)
    const isNone = first === undefined || first === null || first === ""
    const gone = !isSummary ? [] : isNone ? ["<hello>", "<hi>"] : ["<hello>"]
    return [...others.filter((mark) => !gone.includes(mark)), ...own]
  }
  return [...others, ...own]
}

/** A call that can be matched with its result, by id or else by position. */
const isCall = (block: Json): boolean => {
  if (!isObject(block) || (block["type"] !== "toolCall" && block["name"] === undefined)) return false
  const { id } = block
  return typeof id !== "string" || id === "" || id === "call_1"
}

/** The value without sound thinking, which is not sent as text. */
const withoutThinking = (value: Json | undefined): Json => {
  if (isArray(value)) return value.map(withoutThinking)
  if (value === undefined || !isObject(value)) return value ?? null
  if (value["type"] === "thinking" && typeof value["thinking"] === "string") return null
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutThinking(inner)]))
}

/** The marks after a context edit. An unreadable edit does not change its target. */
const edited = (
  others: ReadonlyArray<string>,
  own: ReadonlyArray<string>,
  { replacement, targetId }: JsonObject,
  version: PiProfile
): ReadonlyArray<string> => {
  if (version === "0.78" || targetId !== "b0") return others
  const content = isObject(replacement ?? null) ? objectAt({ replacement }, "replacement")?.["content"] : undefined
  const isApplied = own.length > 0 || replacement === null || typeof content === "string" || isArray(content)
  return [...others.filter((mark) => !isApplied || mark !== "<unedited>"), ...own]
}

const isTextual = (value: Json | undefined): boolean => typeof value === "number" || typeof value === "boolean"

const HEADER = { type: "session", version: 3, id: "s", timestamp }

const headerCases = (): ReadonlyArray<WrongCase> =>
  ["version", "timestamp", "cwd", "parentSession"].flatMap((key) =>
    wrongValues.map(([kind, value]) => {
      const entries = chained([...numbered("u", prefix("usage")), ...numbered("d", suffix("usage"))])
      const words = entries.flatMap(marksOf)
      const header = replaced({ ...HEADER, [key]: null }, [key], value)
      return {
        name: `header: ${key}: ${kind}`,
        header: header !== undefined && isObject(header) ? header : HEADER,
        entries,
        words: { "0.78": words, "1.5": words }
      }
    })
  )

/** All cases, in a fixed order. */
export const wrongCases = (): ReadonlyArray<WrongCase> => {
  const cases: Array<WrongCase> = [...headerCases()]
  for (const template of templates) {
    const { name, before = [], entry, after = [] } = template
    const whole = { timestamp, ...entry }
    for (const path of pathsOf(whole)) {
      for (const [kind, value] of wrongValues) {
        const changed = replaced(whole, path, value)
        if (changed === undefined || !isObject(changed) || path[0] === "type") continue
        for (const tail of tails) {
          const target: JsonObject = tail === "noUsage" && path.at(-1) !== "usage" ? withoutUsage(changed) : changed
          const entries = chained([
            ...numbered("u", prefix(tail).slice(0, 1)),
            ...numbered("a", prefix(tail).slice(1)),
            ...numbered("b", tail === "noUsage" ? before.map(withoutUsage) : before),
            ["x", target],
            ...numbered("c", after),
            ...numbered("d", suffix(tail))
          ])
          cases.push({
            header: HEADER,
            name: `${name}: ${path.join(".")}: ${kind}: ${tail}`,
            entries,
            words: {
              "0.78": expected(template, tail, path, changed, "0.78"),
              "1.5": expected(template, tail, path, changed, "1.5")
            }
          })
        }
      }
    }
  }
  return cases
}
