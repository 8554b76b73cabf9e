/**
 * Writes large session files fast, as Pi 0.78 would, for benchmarks and memory tests.
 *
 * The bytes depend only on the options. Both Pis open the file: a chain of turns (user, assistant with tool calls, tool
 * results) with branches, labels, model changes and, optionally, compactions. Line lengths are distributed as in real
 * files: most are small, few are very large. Keys are in Pi's order.
 */
import * as Fs from "node:fs/promises"
import * as sampleText from "./internal/sampleText.ts"
import * as SeededRandom from "../SeededRandom.ts"

/** What to write. */
export interface LargeSessionOptions {
  /** Number of lines after the header. */
  readonly entries: number
  readonly seed: number
  /** Approximate mean line length in bytes. Default: 1300. Keys alone take 600. */
  readonly meanBytes?: number | undefined
  /** Number of entries between compactions, which keep about 20 entries. Default: no compaction. */
  readonly compactEvery?: number | undefined
  /** The working folder in the header, which must exist when Pi resumes. Default: "/". */
  readonly cwd?: string | undefined
}

/** What was written. */
export interface LargeSession {
  readonly bytes: number
  /** The last entry, always an assistant message. Pi continues from it. */
  readonly leafId: string
}

// 5 January 2026, 10:00 UTC.
const start = Date.UTC(2026, 0, 5, 10)
const keptEntries = 20
const chunkLength = 1 << 20

const tools = ["bash", "read", "edit", "grep"] as const

const argumentsOf = (tool: (typeof tools)[number], text: string): object => {
  switch (tool) {
    case "bash":
      return { command: text }
    case "read":
      return { path: "packages/core/src/Session.ts", offset: text.length }
    case "edit":
      return { path: "packages/core/src/Session.ts", edits: [{ oldText: "const value", newText: text }] }
    case "grep":
      return { pattern: text, path: "packages" }
  }
}

const hex = (value: number, length: number): string => value.toString(16).padStart(length, "0")

interface OpenCall {
  readonly id: string
  readonly tool: string
}

interface PathEntry {
  readonly id: string
  readonly isUser: boolean
}

/** Makes the lines one after another. */
class LineMaker {
  readonly #options: LargeSessionOptions
  readonly #random: SeededRandom.SeededRandom
  readonly #text: (bytes: number) => string
  readonly #idSalt: number
  /** From the root to the latest entry. */
  readonly #path: Array<PathEntry> = []
  #openCalls: ReadonlyArray<OpenCall> = []
  #assistantIsNext = false
  #clock = start
  #written = 0
  #calls = 0
  #sinceCompaction = 0
  #contextTokens = 4000

  constructor(options: LargeSessionOptions) {
    this.#options = options
    this.#random = SeededRandom.make(options.seed)
    this.#text = sampleText.makePool(this.#random)
    this.#idSalt = this.#random.int(2 ** 32)
  }

  get leafId(): string {
    return this.#path.at(-1)?.id ?? ""
  }

  header(): string {
    const random = this.#random
    const time = hex(start, 12)
    const id = [
      time.slice(0, 8),
      time.slice(8),
      `7${hex(random.int(4096), 3)}`,
      `8${hex(random.int(4096), 3)}`,
      hex(random.int(2 ** 32), 12)
    ].join("-")
    const timestamp = new Date(start).toISOString()
    return `${JSON.stringify({ type: "session", version: 3, id, timestamp, cwd: this.#options.cwd ?? "/" })}\n`
  }

  /** The next line, given the number of lines left, including this one. */
  next(left: number): string {
    const { compactEvery } = this.#options
    const [call] = this.#openCalls
    if (call !== undefined) return this.#toolResult(call)
    if (left === 1) return this.#assistant(0)
    if (this.#written === 0) return this.#line("model_change", { provider: "fake", modelId: "fake-1" })
    if (this.#written === 1) return this.#line("thinking_level_change", { thinkingLevel: "off" })
    if (compactEvery !== undefined && this.#sinceCompaction >= compactEvery) return this.#compaction()
    // Leaves room for the results and an answer to them.
    return this.#assistantIsNext ? this.#assistant(left - 2) : this.#betweenTurns()
  }

  #line(type: string, fields: object, isUser = false): string {
    // Products with an odd number are distinct modulo 2 ** 32, hence so are the ids.
    const id = hex((Math.imul(this.#written + 1, 0x9e3779b1) ^ this.#idSalt) >>> 0, 8)
    const parentId = this.#path.at(-1)?.id ?? null
    this.#path.push({ id, isUser })
    this.#written++
    this.#sinceCompaction++
    const timestamp = new Date(this.#clock + 2).toISOString()
    return `${JSON.stringify({ type, id, parentId, timestamp, ...fields })}\n`
  }

  #tick(): number {
    this.#clock += 50 + this.#random.int(20_000)
    return this.#clock
  }

  /** Text for a line with this share of the mean length, given the bytes of its keys. */
  #body(share: number, keyBytes: number): string {
    const bytes = sampleText.spread(this.#random) * share * (this.#options.meanBytes ?? 1300)
    return this.#text(Math.max(16, bytes - keyBytes))
  }

  #user(): string {
    this.#assistantIsNext = true
    const message = { role: "user", content: [{ type: "text", text: this.#body(0.4, 190) }], timestamp: this.#tick() }
    return this.#line("message", { message }, true)
  }

  /** An assistant message with up to `maxCalls` tool calls, or none if it ends the turn. */
  #assistant(maxCalls: number): string {
    const random = this.#random
    const count = maxCalls > 0 && random.chance(0.75) ? 1 + random.int(Math.min(maxCalls, 2)) : 0
    const said = this.#body(0.55, 500)
    const half = said.length / 2
    const toolCalls = Array.from({ length: count }, () => {
      const name = random.pick(tools)
      const id = `call_${++this.#calls}`
      return { type: "toolCall", id, name, arguments: argumentsOf(name, said.slice(0, half / count)) }
    })
    const spoken = count > 0 ? said.slice(half) : said
    const thought = random.chance(0.3) ? spoken.slice(0, spoken.length / 2) : ""
    const thinking = { type: "thinking", thinking: thought, thinkingSignature: "reasoning_content" }
    const text = { type: "text", text: spoken.slice(thought.length) }
    this.#openCalls = toolCalls.map(({ id, name }) => ({ id, tool: name }))
    this.#assistantIsNext = false
    const message = {
      role: "assistant",
      content: [...(thought === "" ? [] : [thinking]), text, ...toolCalls],
      api: "openai-completions",
      provider: "fake",
      model: "fake-1",
      usage: this.#usage(said.length),
      stopReason: count > 0 ? "toolUse" : "stop",
      timestamp: this.#tick(),
      responseId: `chatcmpl-${this.#written}`
    }
    return this.#line("message", { message })
  }

  #usage(outputBytes: number) {
    const output = Math.ceil(outputBytes / 4)
    const input = this.#random.int(3000)
    const cacheWrite = this.#random.int(500)
    this.#contextTokens = Math.min(this.#contextTokens + output + input, 180_000)
    const cacheRead = Math.max(0, this.#contextTokens - input - output - cacheWrite)
    const cost = {
      input: input / 1e6,
      output: (2 * output) / 1e6,
      cacheRead: cacheRead / 1e7,
      cacheWrite: (1.25 * cacheWrite) / 1e6
    }
    const total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite
    const totalTokens = input + output + cacheRead + cacheWrite
    return { input, output, cacheRead, cacheWrite, totalTokens, cost: { ...cost, total } }
  }

  #toolResult(call: OpenCall): string {
    this.#openCalls = this.#openCalls.slice(1)
    this.#assistantIsNext = this.#openCalls.length === 0
    const isError = this.#random.chance(0.05)
    const details = isError ? {} : { diff: this.#body(0.2, 0), firstChangedLine: this.#random.int(500) }
    const message = {
      role: "toolResult",
      toolCallId: call.id,
      toolName: call.tool,
      content: [{ type: "text", text: this.#body(1.3, 300) }],
      ...(call.tool === "edit" ? { details } : {}),
      isError,
      timestamp: this.#tick()
    }
    return this.#line("message", { message })
  }

  #betweenTurns(): string {
    const random = this.#random
    const kind = random.weighted<"user" | "branch" | "label" | "model" | "name">(
      [90, "user"],
      [4, "branch"],
      [3, "label"],
      [2, "model"],
      [1, "name"]
    )
    if (kind === "user") return this.#user()
    if (kind === "branch") return this.#branch()
    this.#tick()
    switch (kind) {
      case "label": {
        const targetId = this.#path[random.int(this.#path.length)]?.id
        return this.#line("label", { targetId, label: `checkpoint ${this.#written}` })
      }
      case "model":
        return this.#line("model_change", { provider: "fake", modelId: "fake-1" })
      case "name":
        return this.#line("session_info", { name: `Work ${this.#written}` })
    }
  }

  /** The index on the path of the last user message at or before `place`; -1 if there is none. */
  #userAtOrBefore(place: number): number {
    return this.#path.findLastIndex(({ isUser }, index) => isUser && index <= place)
  }

  #compaction(): string {
    const place = Math.max(0, this.#path.length - keptEntries)
    const user = this.#userAtOrBefore(place)
    const firstKeptEntryId = this.#path[user === -1 ? place : user]?.id
    const tokensBefore = this.#contextTokens
    const details = { readFiles: ["packages/core/src/Session.ts"], modifiedFiles: [] }
    this.#tick()
    this.#contextTokens = 20_000
    const summary = `## Goal\n${this.#body(1.3, 300)}`
    const line = this.#line("compaction", { summary, firstKeptEntryId, tokensBefore, details, fromHook: false })
    this.#sinceCompaction = 0
    return line
  }

  /** Moves the leaf before an earlier prompt. Pi writes a summary only when asked to. */
  #branch(): string {
    const user = this.#userAtOrBefore(this.#path.length - 2 - this.#random.int(40))
    if (user > 0) this.#path.length = user
    if (this.#random.chance(0.5)) return this.#user()
    this.#tick()
    const details = { readFiles: [], modifiedFiles: [] }
    const summary = this.#body(1, 300)
    return this.#line("branch_summary", { fromId: this.leafId, summary, details, fromHook: false })
  }
}

/** Writes the file, replacing an existing one. */
export const write = async (file: string, options: LargeSessionOptions): Promise<LargeSession> => {
  if (options.entries < 1) throw new RangeError("a large session has at least one entry")
  const maker = new LineMaker(options)
  const handle = await Fs.open(file, "w")
  try {
    let bytes = 0
    let chunk = maker.header()
    for (let left = options.entries; left > 0; left--) {
      chunk += maker.next(left)
      if (chunk.length < chunkLength && left > 1) continue
      const buffer = Buffer.from(chunk)
      await handle.writeFile(buffer)
      bytes += buffer.length
      chunk = ""
    }
    return { bytes, leafId: maker.leafId }
  } finally {
    await handle.close()
  }
}
