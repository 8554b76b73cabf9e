/**
 * Facts about how a conversation went, and the predicates that follow from them.
 *
 * Only what the transcript proves counts; a hidden exit status is not a fact. Failed and aborted answers, which Pi does not
 * send, count only for how the conversation ended. docs/quality.md has the definitions.
 */
import { isDeepStrictEqual } from "node:util"
import { INTERRUPTION_TYPE } from "@pi-sessions/core/claudeCode/HarnessMessage"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { QualityPredicate } from "./QualityPredicate.ts"
import { closedBead, madeCommit, testsPassed } from "./internal/agentCommands.ts"
import { isCorrection } from "./internal/corrections.ts"
import { OpenCalls } from "./internal/openCalls.ts"
import { callsOf } from "./TurnWriter.ts"

/**
 * The last message, except those of extensions and `!commands`. `results`: tool results without an answer after them;
 * `calls`: calls without results.
 */
export type Ending = "answer" | "calls" | "results" | "user" | "abort" | "error" | "nothing"

/** The facts of one branch. */
export interface QualityFacts {
  /** The longest sequence of equal calls, without another call or a user message between them. */
  readonly repeated_calls: number
  /** Number of calls with a result. */
  readonly tool_calls: number
  /** Number of results marked as errors. */
  readonly tool_errors: number
  /** Errors after which the same tool succeeded before the next user message. */
  readonly recovered_errors: number
  /** Share of results that are errors without recovery, from 0 to 1; 0 if there are no results. */
  readonly error_rate: number
  readonly ended: Ending
  /** User messages that reject what the agent said or did; see internal/corrections.ts. */
  readonly corrections: number
  /** Whether tests ran after the last successful edit, and the last run passed. */
  readonly tests_passed_after_edit: boolean
  readonly committed: boolean
  readonly bead_closed: boolean
}

/** Returns the message of an entry; undefined if it has none. */
export type MessageOf = (entry: SessionEntry) => JsonObject | undefined

const decoded: MessageOf = (entry) => objectAt(entry.decode(), "message")

/** Reads texts that may be outline markers of long texts. */
export interface TextReader {
  readonly whole: (text: string) => string
  /** Returns at least the beginning of the text (`OPENING_UNITS`). */
  readonly start: (text: string) => string
}

const plainTexts: TextReader = { whole: (text) => text, start: (text) => text }

/** Computes the facts of a branch (root first). By default, messages are decoded and texts are whole. */
export const factsOf = (
  branch: ReadonlyArray<SessionEntry>,
  messageOf: MessageOf = decoded,
  texts: TextReader = plainTexts,
  budget?: SessionBudget
): QualityFacts => {
  budget?.charge("quality", branch.length * ENTRY_STEPS)
  const tally = new FactTally(budget === undefined ? texts : charged(texts, budget))
  for (const entry of branch) {
    if (entry.type === "custom_message") tally.addCustom(entry)
    if (entry.type !== "message") continue
    const message = messageOf(entry)
    if (message !== undefined) tally.addMessage(message)
  }
  return tally.facts
}

/** Charges the length of each text. */
const charged = ({ start, whole }: TextReader, budget: SessionBudget): TextReader => {
  const charge = (text: string): string => {
    budget.charge("quality", text.length * TEXT_STEPS)
    return text
  }
  return { start: (text) => charge(start(text)), whole: (text) => charge(whole(text)) }
}

/** Steps per character: commands are searched for several programs. */
const TEXT_STEPS = 10

/** The default share of errors above which `error_rate` holds. */
export const MAX_ERROR_RATE = 0.3
/** With fewer errors, a large share means little. */
const ERRORS_MIN = 3
const REPEATED = 3

/** The predicates that hold, sorted. */
export const predicatesOf = (facts: QualityFacts, maxErrorRate = MAX_ERROR_RATE): ReadonlyArray<QualityPredicate> => {
  const holds: { readonly [name in QualityPredicate]: boolean } = {
    aborted: facts.ended === "abort",
    bead_closed: facts.bead_closed,
    committed: facts.committed,
    corrected: facts.corrections > 0,
    error_rate: facts.tool_errors - facts.recovered_errors >= ERRORS_MIN && facts.error_rate > maxErrorRate,
    repeated_call: facts.repeated_calls >= REPEATED,
    tests_passed: facts.tests_passed_after_edit
  }
  return QualityPredicate.literals.filter((name) => holds[name])
}

const EDITS = new Set(["edit", "write", "multiedit", "multi_edit", "notebookedit", "apply_patch"])

/** Compares the first string first, because calls mostly differ there. */
const isSameCall = (a: JsonObject, b: JsonObject): boolean => {
  for (const key in a) {
    const value = a[key]
    if (typeof value === "string") return value === b[key] && isDeepStrictEqual(a, b)
  }
  return isDeepStrictEqual(a, b)
}

interface Call {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
  /** Number of successful edits before the call. */
  readonly edits: number
}

/** Computes facts from messages in their order. */
class FactTally {
  readonly #texts: TextReader
  /** The calls of the latest answer. */
  #calls = new OpenCalls<Call>([])
  #ended: Ending = "nothing"
  /** The latest text of the agent since the last user message. */
  #said: string | undefined
  #lastCall: Pick<Call, "name" | "args"> | undefined
  #running = 0
  #repeated = 0
  #results = 0
  #errors = 0
  #recovered = 0
  /** By tool: errors since the last user message without a success after them. */
  readonly #open = new Map<string, number>()
  #corrections = 0
  /** Number of successful edits. */
  #edits = 0
  #testsPassed = false
  #isCommitted = false
  #isBeadClosed = false

  constructor(texts: TextReader) {
    this.#texts = texts
  }

  get facts(): QualityFacts {
    return {
      repeated_calls: this.#repeated,
      tool_calls: this.#results,
      tool_errors: this.#errors,
      recovered_errors: this.#recovered,
      error_rate: this.#results === 0 ? 0 : (this.#errors - this.#recovered) / this.#results,
      ended: this.#ended,
      corrections: this.#corrections,
      tests_passed_after_edit: this.#testsPassed,
      committed: this.#isCommitted,
      bead_closed: this.#isBeadClosed
    }
  }

  addMessage(message: JsonObject): void {
    if (message["role"] === "assistant") this.#answer(message)
    else if (message["role"] === "toolResult") this.#result(message)
    else if (message["role"] === "user") this.#user(ModelContext.contentText(message["content"]))
  }

  /** Ignored unless it is the marker that the user interrupted. */
  addCustom(entry: SessionEntry): void {
    if (stringAt(entry.decode(), "customType") === INTERRUPTION_TYPE) this.#ended = "abort"
  }

  #user(text: string): void {
    const said = this.#said
    if (said !== undefined && isCorrection(this.#texts.start(text), () => this.#texts.whole(said))) this.#corrections++
    this.#ended = "user"
    this.#said = undefined
    this.#running = 0
    this.#open.clear()
  }

  #answer(message: JsonObject): void {
    this.#said = ModelContext.contentText(message["content"])
    this.#calls = new OpenCalls([])
    const stopReason = message["stopReason"]
    if (stopReason === "error" || stopReason === "aborted") {
      this.#ended = stopReason === "error" ? "error" : "abort"
      return
    }
    const calls = callsOf(message).map((block) => ({
      id: stringAt(block, "id") ?? "",
      name: stringAt(block, "name") ?? "",
      args: objectAt(block, "arguments") ?? {},
      edits: this.#edits
    }))
    this.#calls = new OpenCalls(calls)
    this.#ended = calls.length === 0 ? "answer" : "calls"
    for (const { args, name } of calls) {
      const isRepeat = this.#lastCall?.name === name && isSameCall(this.#lastCall.args, args)
      this.#running = isRepeat ? this.#running + 1 : 1
      this.#lastCall = { name, args }
      this.#repeated = Math.max(this.#repeated, this.#running)
    }
  }

  #result(message: JsonObject): void {
    const call = this.#calls.take(stringAt(message, "toolCallId") ?? "", stringAt(message, "toolName") ?? "")
    if (call === undefined) return
    this.#ended = "results"
    this.#results++
    const isError = message["isError"] === true
    const open = this.#open.get(call.name) ?? 0
    if (isError) {
      this.#errors++
      this.#open.set(call.name, open + 1)
    } else {
      this.#recovered += open
      this.#open.delete(call.name)
    }
    const tool = call.name.toLowerCase()
    if (EDITS.has(tool)) {
      if (!isError) this.#edit()
    } else if (tool === "bash") this.#shell(call, isError, message)
  }

  /** Earlier test runs do not count for the edited files. */
  #edit(): void {
    this.#edits++
    this.#testsPassed = false
  }

  #shell({ args, edits }: Call, isError: boolean, message: JsonObject): void {
    // A command in the background has not ended yet.
    if (args["run_in_background"] === true) return
    const output = (): string => this.#texts.whole(ModelContext.contentText(message["content"]))
    const run = { line: this.#texts.whole(stringAt(args, "command") ?? ""), isError, output }
    const passed = edits > 0 ? testsPassed(run) : undefined
    // Another call of the same answer may have edited after the tests ran.
    if (passed !== undefined) this.#testsPassed = passed && edits === this.#edits
    this.#isCommitted ||= madeCommit(run)
    this.#isBeadClosed ||= closedBead(run)
  }
}
