/**
 * Generates transcripts of Claude Code, with the request for each answer. The generator records the requests itself and
 * never reads a transcript.
 */
import { type JsonObject } from "@pi-sessions/core/Json"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Turn } from "../../src/Turn.ts"

/** A turn, abbreviated. */
export type Said =
  | readonly ["user", string]
  | readonly ["results", ReadonlyArray<readonly [id: string, text: string, isError: boolean]>]
  | readonly ["assistant", text: string, reasoning: string, calls: ReadonlyArray<string>, model: string]

export const inShort = (turns: ReadonlyArray<Turn>): ReadonlyArray<Said> =>
  turns.map(({ content, metadata, role, tool_calls, tool_results }): Said => {
    if (role === "assistant") {
      const calls = tool_calls.map(({ id, name }) => `${id} ${name}`)
      return ["assistant", content, metadata.reasoning ?? "", calls, metadata.model ?? ""]
    }
    if (tool_results.length === 0) return ["user", content]
    return ["results", tool_results.map((one) => [one.tool_call_id, `${one.tool_name} ${one.content}`, one.is_error])]
  })

/** An answer of the model and its request. */
export interface Told {
  /** Of the answer's first line. */
  readonly uuid: string
  readonly sent: ReadonlyArray<Said>
  readonly answer: Said
  readonly model: string
}

export interface Conversation {
  readonly lines: ReadonlyArray<JsonObject>
  readonly told: ReadonlyArray<Told>
  /** Id of the last answer that is not of a sub-agent. */
  readonly last: string
}

/** A position in the conversation: the last line, and what the model has seen. */
interface Place {
  readonly uuid: string | null
  readonly said: ReadonlyArray<Said>
}

const SESSION = "1c0ffee0-0000-4000-8000-000000000000"

class Talk {
  readonly lines: Array<JsonObject> = []
  readonly told: Array<Told> = []
  readonly #random: SeededRandom.SeededRandom
  /** Positions that the user may go back to. */
  readonly #prompts: Array<Place> = []
  #at: Place = { uuid: null, said: [] }
  #numbers = 0
  #agent: string | undefined
  last = ""

  constructor(random: SeededRandom.SeededRandom) {
    this.#random = random
  }

  talk(steps: number): void {
    this.#prompt()
    for (let step = 0; step < steps; step++) {
      const [kind] = [this.#random.int(12)]
      if (kind < 6) this.#work()
      else if (kind === 6) this.#interrupted()
      else if (kind === 7) this.#failed()
      else if (kind === 8) this.#compacted()
      else if (kind === 9) this.#subAgent()
      else if (kind === 10) this.#goBack()
      else this.#beside()
    }
    this.#answer(0)
  }

  #number(): number {
    return ++this.#numbers
  }

  #words(what: string): string {
    return `${what} ${this.#number()}${this.#random.pick(["", "\nand more", ' "quoted" \\ \u2713', " {json}"])}`
  }

  /** Writes a line after another one and returns its uuid. */
  #line(type: string, parentUuid: string | null, members: JsonObject): string {
    const at = this.#number()
    const uuid = `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`
    this.lines.push({
      parentUuid,
      isSidechain: this.#agent !== undefined,
      ...(this.#agent === undefined ? {} : { agentId: this.#agent }),
      cwd: "/srv/shop",
      sessionId: SESSION,
      version: "2.1.0",
      type,
      ...members,
      uuid,
      timestamp: new Date(Date.UTC(2026, 2, 2, 9) + at * 1000).toISOString()
    })
    return uuid
  }

  #noise(after: string | null): string | null {
    const random = this.#random
    if (random.chance(0.2)) this.lines.push({ type: "file-history-snapshot", messageId: "x", snapshot: {} })
    if (random.chance(0.2)) return this.#line("progress", after, { data: { type: "hook_progress" } })
    if (random.chance(0.1)) return this.#line("system", after, { subtype: "turn_duration", durationMs: 1 })
    if (random.chance(0.1)) return this.#line("attachment", after, { attachment: { type: "todo_reminder" } })
    if (random.chance(0.1)) {
      return this.#line("user", after, { isVisibleInTranscriptOnly: true, message: { role: "user", content: "shown" } })
    }
    return after
  }

  #say(text: string, members: JsonObject = {}): void {
    const content = this.#random.chance(0.5) ? text : [{ type: "text", text }]
    const uuid = this.#line("user", this.#noise(this.#at.uuid), { message: { role: "user", content }, ...members })
    this.#at = { uuid, said: [...this.#at.said, ["user", text]] }
  }

  #prompt(): void {
    if (this.#agent === undefined) this.#prompts.push(this.#at)
    this.#say(this.#words("please"))
  }

  /** Answers with calls, then one without. */
  #work(): void {
    for (let calls = this.#random.int(4); calls > 0; calls = this.#random.int(3)) this.#answer(calls)
    this.#answer(0)
    this.#prompt()
  }

  #answer(calls: number): void {
    const random = this.#random
    const id = `msg_${this.#number()}`
    const model = random.chance(0.9) ? "claude-opus-4-5" : "claude-sonnet-4-5"
    const { said, uuid: before } = this.#at
    const reasoning = random.chance(0.4) ? this.#words("hm") : ""
    const text = calls === 0 || random.chance(0.5) ? this.#words("I answer") : ""
    const blocks: ReadonlyArray<JsonObject> = [
      ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: "c2ln" }]),
      ...(text === "" ? [] : [{ type: "text", text }])
    ]
    let first = ""
    let end = this.#noise(before)
    const write = (block: JsonObject, isLast: boolean): string => {
      const reason = random.chance(0.5) && isLast ? (calls === 0 ? "end_turn" : "tool_use") : null
      const usage = { input_tokens: 3, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
      const message = { role: "assistant", id, model, content: [block], stop_reason: reason, usage }
      const uuid = this.#line("assistant", end, { message, requestId: `req_${id}` })
      if (first === "") first = uuid
      end = uuid
      return uuid
    }
    for (const [at, block] of blocks.entries()) write(block, calls === 0 && at === blocks.length - 1)
    const results: Array<readonly [string, string, boolean]> = []
    const names: Array<string> = []
    const pending: Array<() => void> = []
    for (let call = 0; call < calls; call++) {
      const callId = `toolu_${this.#number()}`
      const name = random.pick(["Bash", "Read", "Edit"])
      names.push(`${callId} ${name}`)
      const at = write({ type: "tool_use", id: callId, name, input: { n: call } }, call === calls - 1)
      pending.push(() => {
        const output = this.#words("it says")
        const isError = random.chance(0.2)
        const content = random.chance(0.5) ? output : [{ type: "text", text: output }]
        const block = { type: "tool_result", tool_use_id: callId, content, ...(isError ? { is_error: true } : {}) }
        // Its parent is the line of its call, as if it were a branch.
        end = this.#line("user", this.#noise(at), { message: { role: "user", content: [block] }, toolUseResult: {} })
        results.push([callId, `${name} ${output}`, isError])
      })
      // Some tools end before the model has made all calls.
      if (random.chance(0.2)) pending.shift()?.()
    }
    for (const finish of pending) finish()
    const answer: Said = ["assistant", text, reasoning, names, model]
    this.told.push({ uuid: first, sent: said, answer, model })
    if (this.#agent === undefined) this.last = first
    this.#at = { uuid: end, said: [...said, answer, ...(calls === 0 ? [] : [["results", results] as const])] }
  }

  #interrupted(): void {
    const before = this.#at
    const content = [{ type: "text", text: this.#words("I beg") }]
    const message = {
      role: "assistant",
      id: `msg_${this.#number()}`,
      model: "claude-opus-4-5",
      content,
      stop_reason: null
    }
    const uuid = this.#line("assistant", before.uuid, { message })
    // Interrupted answers are not sent.
    this.#at = { uuid, said: before.said }
    this.#say("[Request interrupted by user]")
    this.#prompt()
  }

  #failed(): void {
    const content = [{ type: "text", text: this.#words("API Error") }]
    const message = {
      role: "assistant",
      id: `e${this.#number()}`,
      model: "<synthetic>",
      content,
      stop_reason: "stop_sequence"
    }
    const uuid = this.#line("assistant", this.#at.uuid, { message, isApiErrorMessage: true })
    this.#at = { uuid, said: this.#at.said }
    this.#prompt()
  }

  #compacted(): void {
    const { said, uuid: logicalParentUuid } = this.#at
    const isKept = this.#random.chance(0.3) && said.at(-1)?.[0] === "user"
    const kept = isKept ? [logicalParentUuid] : []
    const uuid = this.#line("system", null, {
      subtype: "compact_boundary",
      logicalParentUuid: this.#random.chance(0.8) ? logicalParentUuid : "never-written",
      compactMetadata: { trigger: "auto", preTokens: 1000, ...(isKept ? { preservedMessages: { uuids: kept } } : {}) }
    })
    this.#at = { uuid, said: isKept ? said.slice(-1) : [] }
    this.#say(this.#words("This session is being continued"), {
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true
    })
    // The user goes back only to positions after the compaction.
    this.#prompts.splice(0)
    this.#prompt()
  }

  /** A sub-agent does not see the conversation that called it. */
  #subAgent(): void {
    const outer = this.#at
    this.#agent = `a${this.#number()}`
    this.#at = { uuid: null, said: [] }
    this.#say(this.#words("look for"))
    this.#answer(this.#random.int(3))
    this.#answer(0)
    this.#agent = undefined
    this.#at = outer
  }

  #goBack(): void {
    if (this.#prompts.length === 0) return
    this.#at = this.#prompts[this.#random.int(this.#prompts.length)] ?? this.#at
    this.#say(this.#words("rather"))
  }

  /** User messages that are not prompts: commands, caveats, queued commands. */
  #beside(): void {
    const random = this.#random
    if (random.chance(0.3)) return this.#say(`<command-name>/${this.#number()}</command-name>`)
    if (random.chance(0.5)) return this.#say(this.#words("Caveat"), { isMeta: true })
    const prompt = this.#words("by the way")
    const attachment = { type: "queued_command", prompt, commandMode: "prompt" }
    const uuid = this.#line("attachment", this.#at.uuid, { attachment })
    this.#at = { uuid, said: [...this.#at.said, ["user", prompt]] }
  }
}

export const conversation = (seed: number, steps = 12): Conversation => {
  const talk = new Talk(SeededRandom.make(seed))
  talk.talk(steps)
  return { lines: talk.lines, told: talk.told, last: talk.last }
}

export const transcript = ({ lines }: Pick<Conversation, "lines">): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("")
