/**
 * Random messages as Pi stores them: difficult text, images, thinking, tool calls, errors.
 *
 * Keys are in Pi's order. Keys that 0.78 does not have are used for 1.5 only.
 */
import type { PiContent, PiMessage } from "../pi/PiModule.ts"
import type { PiVersion } from "../pi/PiVersion.ts"
import type { SeededRandom } from "../SeededRandom.ts"

/** The state of message generation: a clock and a serial number, which advance with each message. */
export interface RandomMessages {
  readonly version: PiVersion
  readonly random: SeededRandom
  /** Milliseconds since 1970 of the latest message. */
  clock: number
  /** The number of the latest tool call. */
  serial: number
}

/** A call of a tool that has no result yet. */
export interface OpenToolCall {
  readonly id: string
  readonly name: string
}

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const hardText = [
  "Why does the build fail on Tuesdays?",
  "naïve café – „Anführung“ – Ελληνικά – 日本語 – العربية",
  "emoji 🧪 👩‍🚀 🏳️‍🌈 🇪🇺",
  "separators \u2028 and \u2029 and \u0085",
  "a lone high surrogate \ud83e and a lone low one \udd23",
  "quotes \" and ' and ` and “”",
  "backslashes \\ \\n \\u0041 \\\\",
  "tab\tcarriage return\r\nbell\u0007 null\u0000 delete\u007f",
  "\ufeffa byte order mark, and combining e\u0301",
  "</summary>\n```ts\nconst x = `${y}`\n```\n",
  '{"type":"session","id":"not a header"}',
  "  spaces around  ",
  "\n\nlines\n\n\n"
] as const

/** Difficult text, sometimes long, rarely empty. */
export const text = (random: SeededRandom): string => {
  if (random.chance(0.03)) return ""
  if (random.chance(0.02)) return random.pick(hardText).repeat(100 + random.int(200))
  return Array.from({ length: 1 + random.int(3) }, () => random.pick(hardText)).join(" ")
}

/** A JSON value of any kind, and undefined. */
export const json = (random: SeededRandom): unknown => {
  switch (random.int(8)) {
    case 0:
      return undefined
    case 1:
      return null
    case 2:
      return random.int(1_000_000) / 8
    case 3:
      return text(random)
    case 4:
      return [1, [2, { three: [] }], null, false]
    case 5:
      return { "": 0, type: "session", id: "0", "ключ \u2028": { deep: { deeper: text(random) } } }
    case 6:
      return { "10": "b", "9": "a", z: 1, a: 2 }
    default:
      return {}
  }
}

const textBlock = (random: SeededRandom) => ({ type: "text", text: text(random) })

const imageBlock = { type: "image", data: png, mimeType: "image/png" }

/** Blocks of text, now and then with an image. */
export const blocks = (random: SeededRandom): Exclude<PiContent, string> => {
  const texts = Array.from({ length: random.chance(0.2) ? random.int(3) : 1 }, () => textBlock(random))
  return random.chance(0.15) ? [...texts, imageBlock] : texts
}

/** A string or blocks. */
export const content = (random: SeededRandom): PiContent => (random.chance(0.4) ? text(random) : blocks(random))

/** The usage of a model call. */
export const usage = (version: PiVersion, random: SeededRandom) => {
  const [input, output, cacheRead, cacheWrite] = random.chance(0.1)
    ? ([0, 0, 0, 0] as const)
    : ([random.int(9000), random.int(2000), random.int(90_000), random.int(4000)] as const)
  const cost = {
    input: input / 1e6,
    output: (2 * output) / 1e6,
    cacheRead: (0.1 * cacheRead) / 1e6,
    cacheWrite: (1.25 * cacheWrite) / 1e6
  }
  const total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite
  const newer = version !== "0.78" && random.chance(0.7)
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    ...(newer ? { reasoning: random.int(output + 1) } : {}),
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { ...cost, total, ...(newer ? { totalFromProvider: random.chance(0.5) } : {}) }
  }
}

const tick = (messages: RandomMessages): number => {
  messages.clock += 1 + messages.random.int(90_000)
  return messages.clock
}

interface ModelName {
  readonly provider: string
  readonly model: string
  readonly api: string
}

/** The models that walks talk to. */
export const models: readonly [ModelName, ...ReadonlyArray<ModelName>] = [
  { provider: "fake", model: "fake-1", api: "openai-completions" },
  { provider: "fake", model: "fake-thinking", api: "openai-completions" },
  { provider: "anthropic", model: "claude-sonnet-4-5", api: "anthropic-messages" }
]

/** A message of the user. */
export const user = (messages: RandomMessages): PiMessage => ({
  role: "user",
  content: content(messages.random),
  timestamp: tick(messages)
})

const thinkingBlock = (random: SeededRandom) =>
  random.chance(0.1)
    ? { type: "thinking", thinking: "", thinkingSignature: "b3BhcXVl", redacted: true }
    : {
        type: "thinking",
        thinking: text(random),
        ...(random.chance(0.6) ? { thinkingSignature: "reasoning_content" } : {})
      }

const toolArguments = {
  read: (random: SeededRandom) => ({ path: `src/file${random.int(9)}.ts` }),
  bash: (random: SeededRandom) => ({ command: text(random), timeout: random.int(100) }),
  edit: (random: SeededRandom) => ({ path: "src/ä.ts", edits: [{ oldText: text(random), newText: text(random) }] }),
  odd: () => ({})
}

/** A message of the model, and the tool calls it leaves open. */
export const assistant = (
  messages: RandomMessages
): { readonly message: PiMessage; readonly openCalls: ReadonlyArray<OpenToolCall> } => {
  const { random, version } = messages
  const stopReason = random.weighted([50, "stop"], [38, "toolUse"], [3, "length"], [5, "error"], [4, "aborted"])
  const broken = stopReason === "error" || stopReason === "aborted"
  const calls = Array.from({ length: stopReason === "toolUse" ? 1 + random.int(3) : 0 }, () => {
    const name = random.pick(["read", "bash", "edit", "odd"] as const)
    const id = `call_${++messages.serial}`
    return {
      type: "toolCall",
      id: random.chance(0.1) ? `${id}|fc_${messages.serial}` : id,
      name,
      arguments: toolArguments[name](random),
      ...(random.chance(0.1) ? { thoughtSignature: "c2lnbmF0dXJl" } : {})
    }
  })
  const text =
    broken && random.chance(0.4)
      ? []
      : [{ ...textBlock(random), ...(random.chance(0.1) ? { textSignature: "msg_1" } : {}) }]
  const message = {
    role: "assistant",
    content: [
      ...(random.chance(0.4) ? [thinkingBlock(random)] : []),
      ...(calls.length > 0 && random.chance(0.4) ? [] : text),
      ...calls
    ],
    ...(({ provider, model, api }) => ({ api, provider, model }))(random.pick(models)),
    usage: usage(version, random),
    stopReason,
    timestamp: tick(messages),
    ...(random.chance(0.3) ? { responseId: `chatcmpl-${messages.serial}` } : {}),
    ...(broken ? { errorMessage: stopReason === "aborted" ? "Request was aborted." : "500 boom" } : {}),
    ...(version === "0.78" ? {} : { durationMs: random.int(60_000), thinkingLevel: "off" })
  }
  return { message, openCalls: calls.map(({ id, name }) => ({ id, name })) }
}

/** The result of a tool call. */
export const toolResult = (messages: RandomMessages, call: OpenToolCall): PiMessage => {
  const { random, version } = messages
  const details = random.chance(0.3) ? { diff: text(random), firstChangedLine: random.int(100) } : undefined
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: blocks(random),
    ...(details === undefined ? {} : { details }),
    isError: random.chance(0.15),
    // A tool that calls a model reports its usage.
    ...(version !== "0.78" && random.chance(0.3) ? { usage: usage(version, random) } : {}),
    ...(version === "0.78" ? {} : { durationMs: random.int(1000) }),
    timestamp: tick(messages)
  }
}

/** A command that the user ran. */
export const bashExecution = (messages: RandomMessages): PiMessage => {
  const { random } = messages
  const cancelled = random.chance(0.1)
  const truncated = random.chance(0.1)
  return {
    role: "bashExecution",
    command: text(random),
    output: text(random),
    exitCode: cancelled ? undefined : random.int(3),
    cancelled,
    truncated,
    fullOutputPath: truncated ? "/tmp/pi-bash-0000.log" : undefined,
    timestamp: tick(messages),
    excludeFromContext: random.chance(0.3) ? true : undefined
  }
}

const tool = (name: string) => ({
  name,
  description: `The ${name} tool`,
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
})

/** A system message, which only 1.5 has: a whole prompt or a change of it. */
export const system = (messages: RandomMessages): PiMessage => {
  const { random } = messages
  const whole = random.chance(0.4)
  const sections = whole
    ? { preamble: text(random), tools: "<tools>\n- read\n</tools>", rules: text(random) }
    : { rules: random.chance(0.5) ? text(random) : null }
  return {
    role: "system",
    content: whole ? "" : random.chance(0.5) ? text(random) : [textBlock(random)],
    ...(random.chance(0.8) ? { sections } : {}),
    ...(whole || random.chance(0.3) ? { toolsAdded: [tool("read"), tool("bash")] } : {}),
    ...(whole || random.chance(0.7) ? {} : { toolsRemoved: [{ name: "bash" }] }),
    timestamp: tick(messages)
  }
}
