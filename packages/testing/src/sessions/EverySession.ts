/**
 * Sessions with every entry type, message role, content block and field that Pi 0.78 to 1.5 writes, in each version of
 * the format. A seed chooses the words and the ids, so that two sessions have no text in common.
 */
import * as SeededRandom from "../SeededRandom.ts"

type Value = { readonly [key: string]: unknown }

/** Format of a generated session. */
export const formats = ["v3", "v2", "v1"] as const
export type Format = (typeof formats)[number]

/** What identifies a generated session. */
export interface EverySession {
  readonly id: string
  /** Occurs in each text of the session. */
  readonly word: string
  readonly lines: ReadonlyArray<string>
}

export interface EverySessionOptions {
  readonly seed: number
  readonly format: Format
  readonly cwd: string
  /** Default: `fake-1`. */
  readonly model?: string | undefined
}

/** Words and times of one session. */
interface Voice {
  readonly say: (count: number) => string
  readonly id: (number: number) => string
  readonly at: (number: number) => string
  readonly model: string
}

const voiceOf = (seed: number, word: string, model: string): Voice => {
  const random = SeededRandom.make(seed)
  const letters = "abcdefghijklmnopqrstuvwxyz"
  const made = (): string => Array.from({ length: 4 + random.int(5) }, () => letters[random.int(26)]).join("")
  return {
    say: (count) => [word, ...Array.from({ length: count }, made)].join(" "),
    id: (number) => (seed * 4096 + number).toString(16).padStart(8, "0").slice(-8),
    at: (number) => new Date(Date.UTC(2026, 2, 2, 10) + (seed % 100_000) * 60_000 + number * 1000).toISOString(),
    model
  }
}

const usage = {
  input: 1200,
  output: 80,
  cacheRead: 300,
  cacheWrite: 20,
  cacheWrite1h: 5,
  reasoning: 10,
  totalTokens: 1600,
  cost: {
    input: 0.0012,
    output: 0.0004,
    cacheRead: 0.00003,
    cacheWrite: 0.00002,
    total: 0.00165,
    totalFromProvider: true
  }
}

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const systemMessage = ({ say }: Voice): Value => ({
  role: "system",
  content: say(3),
  sections: { preamble: say(6), rules: say(4), gone: null },
  toolsAdded: [
    {
      name: "bash",
      description: say(4),
      parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] }
    },
    { name: "edit", description: say(3), parameters: { type: "object", properties: {} } }
  ],
  toolsRemoved: [{ name: "read" }],
  timestamp: 1772445600000
})

const assistantMessage = ({ say, model }: Voice, content: ReadonlyArray<Value>, more: Value = {}): Value => ({
  role: "assistant",
  content,
  api: "openai-completions",
  provider: "fake",
  model,
  usage,
  stopReason: content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop",
  timestamp: 1772445601000,
  responseModel: model,
  responseId: say(0),
  thinkingLevel: "off",
  providerThinkingLevel: "low",
  rawStopReason: "stop",
  endTurn: true,
  durationMs: 900,
  ...more
})

const toolAnswers = (voice: Voice): ReadonlyArray<Value> => [
  assistantMessage(
    voice,
    [
      { type: "thinking", thinking: voice.say(8), thinkingSignature: "c2ln", redacted: false },
      { type: "text", text: voice.say(9), textSignature: "msg_1" },
      {
        type: "toolCall",
        id: "call_1|fc_1",
        name: "bash",
        arguments: { command: `pnpm test ${voice.say(1)} && git push`, timeout: 20 },
        thoughtSignature: "c2ln",
        namespace: "functions"
      },
      {
        type: "toolCall",
        id: "call_2",
        name: "edit",
        arguments: { path: "src/a.ts", edits: [{ oldText: voice.say(2), newText: voice.say(3) }] },
        argumentsError: "no JSON"
      }
    ],
    {
      diagnostics: [{ type: "retry", timestamp: 1772445601000, error: voice.say(2), details: { attempt: 1 } }],
      deferred: { provider: "fake", modelId: "fake-1", api: "openai-completions", id: "d1", pollAfterMs: 10 }
    }
  ),
  {
    role: "toolResult",
    toolCallId: "call_1|fc_1",
    toolName: "bash",
    content: [
      { type: "text", text: `${voice.say(12)}\n3 passed` },
      { type: "image", data: png, mimeType: "image/png" }
    ],
    details: { truncation: { truncated: false }, fullOutputPath: "/tmp/out.log" },
    isError: false,
    usage,
    nestedCalls: { calls: [{ id: "n1", name: "read", arguments: {}, status: "ok", durationMs: 3 }], complete: true },
    durationMs: 30,
    timestamp: 1772445602000
  },
  {
    role: "toolResult",
    toolCallId: "call_2",
    toolName: "edit",
    content: [{ type: "text", text: voice.say(5) }],
    details: { diff: voice.say(3), patch: voice.say(3), firstChangedLine: 3 },
    isError: true,
    timestamp: 1772445603000
  },
  assistantMessage(voice, [{ type: "text", text: voice.say(14) }])
]

/** Entries without ids, parents and times. `KEPT` stands for the id of the entry from which a compaction keeps. */
const payloads = (voice: Voice): ReadonlyArray<Value> => {
  const { say, id, model } = voice
  const message = (value: Value): Value => ({ type: "message", message: value })
  return [
    { type: "model_change", provider: "fake", modelId: model },
    { type: "thinking_level_change", thinkingLevel: "medium" },
    message(systemMessage(voice)),
    message({ role: "user", content: say(12), timestamp: 1772445600500 }),
    message(assistantMessage(voice, [{ type: "text", text: say(10) }])),
    {
      type: "branch_summary",
      fromId: id(5),
      summary: say(7),
      details: { readFiles: ["a.ts"], modifiedFiles: [] },
      fromHook: false,
      usage
    },
    message({
      role: "user",
      content: [
        { type: "text", text: say(11) },
        { type: "image", data: png, mimeType: "image/png" }
      ]
    }),
    ...toolAnswers(voice).map(message),
    {
      type: "compaction",
      summary: say(9),
      firstKeptEntryId: id(9),
      tokensBefore: 48_000,
      details: { readFiles: [], modifiedFiles: ["b.ts"] },
      fromHook: true,
      usage,
      systemMessage: systemMessage(voice)
    },
    { type: "custom", customType: "todo", data: { items: [{ id: 1, text: say(2), done: false }] } },
    { type: "custom_message", customType: "note", content: say(6), display: true, details: { a: 1 } },
    { type: "custom_message", customType: "note", content: [{ type: "text", text: say(6) }], display: false },
    { type: "label", targetId: id(4), label: say(1) },
    { type: "session_info", name: say(2) },
    { type: "usage", kind: "cache_warm", provider: "fake", model, usage, note: say(1) },
    message({
      role: "bashExecution",
      command: `ls ${say(1)}`,
      output: say(6),
      exitCode: 1,
      cancelled: false,
      truncated: true,
      fullOutputPath: "/tmp/pi-bash.log",
      timestamp: 1772445604000,
      excludeFromContext: false
    }),
    message({ role: "custom", customType: "hint", content: say(5), display: true, details: {}, timestamp: 1 }),
    message({ role: "user", content: [{ type: "text", text: say(10) }], timestamp: 1772445604500 }),
    ...toolAnswers(voice).map(message),
    { type: "context_edit", targetId: id(22), replacement: { content: [{ type: "text", text: say(6) }] } },
    { type: "context_edit", targetId: id(17), replacement: null },
    message({ role: "user", content: say(9) }),
    message(assistantMessage(voice, [], { stopReason: "error", errorMessage: say(4) })),
    message(assistantMessage(voice, [{ type: "text", text: say(16) }], { provider: "other", model: "other-2" }))
  ]
}

const NEWER = new Set(["usage", "context_edit"])

/** A whole session, a line for each entry. */
export const make = ({ seed, format, cwd, model = "fake-1" }: EverySessionOptions): EverySession => {
  const word = `w${seed}w`
  const voice = voiceOf(seed, word, model)
  const id = `019c0000-0000-7000-8000-${seed.toString(16).padStart(12, "0")}`
  const header = {
    type: "session",
    ...(format === "v1" ? {} : { version: format === "v2" ? 2 : 3 }),
    id,
    timestamp: voice.at(0),
    cwd,
    ...(format === "v1"
      ? { provider: "fake", modelId: model, thinkingLevel: "off" }
      : { parentSession: "/srv/none.jsonl" })
  }
  const entries = payloads(voice).map((payload, index) => {
    const timestamp = voice.at(index + 1)
    if (format !== "v1") {
      return { ...payload, id: voice.id(index + 1), parentId: index === 0 ? null : voice.id(index), timestamp }
    }
    const { firstKeptEntryId: kept, ...others } = payload
    return { ...others, ...(kept === undefined ? {} : { firstKeptEntryIndex: 8 }), timestamp }
  })
  const written = format === "v3" ? entries : entries.filter(({ type }: Value) => !NEWER.has(String(type)))
  const lines = [header, ...written].map((value) => JSON.stringify(value))
  const hooked = format === "v2" ? lines.map((line) => line.replace('"role":"custom"', '"role":"hookMessage"')) : lines
  return { id, word, lines: hooked }
}
