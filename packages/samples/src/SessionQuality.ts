/**
 * How a conversation went, in facts that its transcript shows, and which predicates hold of them. Nothing here is a
 * guess: a status that was hidden is no fact, and what Pi leaves out of its requests (answers that failed or were aborted,
 * with their calls) counts only for how the conversation ended.
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
import { callsOf } from "./TurnWriter.ts"

/** What was said last, extensions and `!commands` apart. `results`: of tools, which no answer followed; `calls`: without results. */
export type Ending = "answer" | "calls" | "results" | "user" | "abort" | "error" | "nothing"

/** The facts of one branch. */
export interface QualityFacts {
  /** How often, at the most, one call was made running: no other call and no word of the user in between. */
  readonly repeated_calls: number
  /** Calls that have a result. */
  readonly tool_calls: number
  /** Results that the tool called an error. */
  readonly tool_errors: number
  /** Those of them after which the same tool succeeded before the user spoke again. */
  readonly recovered_errors: number
  /** Share of results that are errors which the agent did not recover from; 0 where there are no results. */
  readonly error_rate: number
  readonly ended: Ending
  /** Messages of the user that reject what the agent said or did; see internal/corrections.ts. */
  readonly corrections: number
  /** Whether tests were run behind the last edit that succeeded, and the last run of them passed. */
  readonly tests_passed_after_edit: boolean
  readonly committed: boolean
  readonly bead_closed: boolean
}

/** The message of an entry; undefined where it has none. */
export type MessageOf = (entry: SessionEntry) => JsonObject | undefined

const decoded: MessageOf = (entry) => objectAt(entry.decode(), "message")

/** How to read texts of which long ones may be set aside. */
export interface TextsRead {
  readonly whole: (text: string) => string
  /** At least as much of it as tells how it begins. */
  readonly start: (text: string) => string
}

const asTheyAre: TextsRead = { whole: (text) => text, start: (text) => text }

/**
 * The facts of a branch (root first). Who has decoded its messages already gives a `messageOf` that knows them, and who
 * set long texts aside tells how to read them.
 */
export const factsOf = (
  branch: ReadonlyArray<SessionEntry>,
  messageOf: MessageOf = decoded,
  texts: TextsRead = asTheyAre,
  budget?: SessionBudget
): QualityFacts => {
  budget?.charge("quality", branch.length * ENTRY_STEPS)
  const witness = new Witness(budget === undefined ? texts : counted(texts, budget), budget)
  for (const entry of branch) {
    if (entry.type === "custom_message") witness.custom(entry)
    if (entry.type !== "message") continue
    const message = messageOf(entry)
    if (message !== undefined) witness.message(message)
  }
  return witness.facts
}

/** Reads the same texts, and charges their lengths. */
const counted = ({ start, whole }: TextsRead, budget: SessionBudget): TextsRead => {
  const charged = (text: string): string => {
    budget.charge("quality", text.length * TEXT_STEPS)
    return text
  }
  return { start: (text) => charged(start(text)), whole: (text) => charged(whole(text)) }
}

/** A command is searched for several programs. */
const TEXT_STEPS = 10

/** Sessions with more errors than that are many of no use; a person may choose another limit. */
export const MAX_ERROR_RATE = 0.3
/** Of few calls one that failed is a large share, and says little. */
const ERRORS_MIN = 3
const REPEATED = 3

/** The names of the predicates that hold, in alphabetical order. */
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

/** Arguments of calls differ mostly in their first text, and equal ones are few. */
const isSameCall = (a: JsonObject, b: JsonObject): boolean => {
  for (const key in a) {
    const value = a[key]
    if (typeof value === "string") return value === b[key] && isDeepStrictEqual(a, b)
  }
  return isDeepStrictEqual(a, b)
}

/** A call of the answer that was read last. */
interface Pending {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
  /** Edits that had succeeded when it was made. */
  readonly edits: number
}

/** Reads messages in their order and keeps what they show. */
class Witness {
  readonly #texts: TextsRead
  readonly #budget: SessionBudget | undefined
  #pending: Array<Pending> = []
  #ended: Ending = "nothing"
  /** What the agent said last, where it has said or done something since the user spoke. */
  #said: string | undefined
  #lastCall: Pick<Pending, "name" | "args"> | undefined
  #running = 0
  #repeated = 0
  #results = 0
  #errors = 0
  #recovered = 0
  /** Errors since the user spoke after which their tool has not succeeded. */
  readonly #open = new Map<string, number>()
  #corrections = 0
  /** Edits that succeeded. */
  #edits = 0
  #testsPassed = false
  #isCommitted = false
  #isBeadClosed = false

  constructor(texts: TextsRead, budget?: SessionBudget) {
    this.#texts = texts
    this.#budget = budget
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

  message(message: JsonObject): void {
    if (message["role"] === "assistant") this.#answer(message)
    else if (message["role"] === "toolResult") this.#result(message)
    else if (message["role"] === "user") this.#user(ModelContext.contentText(message["content"]))
  }

  /** Nobody's word, but for one that says that the user interrupted. */
  custom(entry: SessionEntry): void {
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
    this.#pending = []
    const stopReason = message["stopReason"]
    if (stopReason === "error" || stopReason === "aborted") {
      this.#ended = stopReason === "error" ? "error" : "abort"
      return
    }
    const calls = callsOf(message)
    this.#ended = calls.length === 0 ? "answer" : "calls"
    for (const call of calls) {
      const name = stringAt(call, "name") ?? ""
      const args = objectAt(call, "arguments") ?? {}
      this.#pending.push({ id: stringAt(call, "id") ?? "", name, args, edits: this.#edits })
      const isRepeat = this.#lastCall?.name === name && isSameCall(this.#lastCall.args, args)
      this.#running = isRepeat ? this.#running + 1 : 1
      this.#lastCall = { name, args }
      this.#repeated = Math.max(this.#repeated, this.#running)
    }
  }

  #result(message: JsonObject): void {
    const id = stringAt(message, "toolCallId") ?? ""
    const name = stringAt(message, "toolName") ?? ""
    this.#budget?.charge("quality", this.#pending.length)
    // pi-rust writes no ids: results are told by their tool, in order.
    const at = this.#pending.findIndex((call) => call.id === id && (id !== "" || name === "" || call.name === name))
    const [call] = at < 0 ? [] : this.#pending.splice(at, 1)
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

  /** What tests said before it, they said of other files. */
  #edit(): void {
    this.#edits++
    this.#testsPassed = false
  }

  #shell({ args, edits }: Pending, isError: boolean, message: JsonObject): void {
    // What runs in the background has not ended when its call has.
    if (args["run_in_background"] === true) return
    const output = (): string => this.#texts.whole(ModelContext.contentText(message["content"]))
    const run = { line: this.#texts.whole(stringAt(args, "command") ?? ""), isError, output }
    const passed = edits > 0 ? testsPassed(run) : undefined
    // An edit of the same answer may have come behind them.
    if (passed !== undefined) this.#testsPassed = passed && edits === this.#edits
    this.#isCommitted ||= madeCommit(run)
    this.#isBeadClosed ||= closedBead(run)
  }
}
