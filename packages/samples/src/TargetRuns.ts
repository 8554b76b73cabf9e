/**
 * The targets of a session, in runs: maximal sequences of answers in which each request extends the one before it plus
 * its answer. One sample can hold a run whole, and every answer in it stands behind exactly what the model was sent.
 *
 * A run ends where that stops being so: at a compaction, a context edit, another branch, a change of the system prompt
 * or the tools, a model that gets to see other thinking. Every answer is a target in one run only; where branches share
 * their beginning, the shared answers are targets of the first branch and context of the others.
 */
import { type JsonObject } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import * as ModelRequest from "@pi-sessions/core/ModelRequest"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as ValueText from "@pi-sessions/core/ValueText"
import { ENTRY_BYTES, ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type ToldContext, type ToldInSession } from "./ToldContexts.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { callsOf } from "./TurnWriter.ts"

/** Why a run does not go on from the one before it on its branch. */
export type RunStart =
  /** The first of its branch. */
  | "session"
  /** The answers before it are targets of another branch. */
  | "branch"
  | "compaction"
  | "context_edit"
  /** Another model, or another form of what was sent to it before. */
  | "model"
  /** The system prompt or the tools changed. */
  | "system"
  /** The answers before it are nobody's targets. */
  | "untrained"
  /** Anything else that changed what was sent before. */
  | "history"

export interface TargetRun {
  readonly start: RunStart
  readonly profile: PiProfile
  /** The model of the last target. */
  readonly model: ModelContext.TargetModel
  readonly systemMessages: ReadonlyArray<ModelRequest.SentMessage>
  /** What the mirror told of the requests; undefined when it told nothing. */
  readonly told: ToldContext | undefined
  /** The request for the last target and its answer. Every earlier request of the run is the beginning of it. */
  readonly messages: ReadonlyArray<ModelRequest.SentMessage>
  /** Where the first target stands in `messages`; answers before it are context. */
  readonly firstTarget: number
  /** Entries of the targets, in order. */
  readonly targets: ReadonlyArray<SessionEntry>
  /** From the root to the last target. */
  readonly branch: ReadonlyArray<SessionEntry>
}

export interface RunOptions {
  /** The active branch, or all of them, the active one first. */
  readonly branches?: "active" | "all"
  /** The Pi that asked; told by each branch unless given. */
  readonly profile?: PiProfile
  /** What the mirror told of this session. */
  readonly told?: ToldInSession
  /** Whether an answer may be a target; one that may not is context. */
  readonly isTarget?: (entry: SessionEntry) => boolean
  /** Of the session. */
  readonly budget?: SessionBudget
}

/** The runs of a session, those of the active branch first, in the order of their branches. */
export const runs = (tree: SessionTree, options: RunOptions = {}): ReadonlyArray<TargetRun> => {
  const cutter = new RunCutter(options)
  // A value behind the last entry takes the leaf from Pi, but not the answers that were given before it.
  const leaf = tree.getLeafEntry() ?? tree.getEntries().at(-1)
  const ends = options.branches === "all" ? tree.leaves() : []
  for (const end of new Set(leaf === undefined ? ends : [leaf, ...ends])) cutter.cut(tree.branchTo(end))
  return cutter.runs
}

/** How far a branch has been sent: the last request and its answer. */
interface Sent {
  readonly at: number
  readonly profile: PiProfile
  readonly model: ModelContext.TargetModel
  readonly systemMessages: ReadonlyArray<ModelRequest.SentMessage>
  readonly told: ToldContext | undefined
  /** Grows while requests extend each other; who keeps it takes as much as it held then. */
  readonly messages: Array<ModelRequest.SentMessage>
}

interface OpenRun {
  readonly start: RunStart
  readonly firstTarget: number
  readonly targets: Array<SessionEntry>
}

type Messages = ReadonlyArray<JsonObject>

class RunCutter {
  readonly runs: Array<TargetRun> = []
  readonly #profile: PiProfile | undefined
  readonly #isTarget: (entry: SessionEntry) => boolean
  readonly #told: ToldInSession
  readonly #budget: SessionBudget | undefined
  readonly #taken = new Set<SessionEntry>()
  readonly #messages = { "0.78": new Map<SessionEntry, Messages>(), "1.5": new Map<SessionEntry, Messages>() }

  constructor({ budget, isTarget = () => true, profile, told = new Map() }: RunOptions) {
    this.#budget = budget
    this.#profile = profile
    this.#told = told
    this.#isTarget = isTarget
  }

  cut(branch: ReadonlyArray<SessionEntry>): void {
    this.#budget?.charge("requests", branch.length * ENTRY_STEPS)
    let sent: Sent | undefined
    let run: OpenRun | undefined
    /** Why the next run will not go on from the answers before it. */
    let apart: RunStart = "session"
    let profile: PiProfile = this.#profile ?? "0.78"
    let told = this.#told.get("")
    for (const [at, entry] of branch.entries()) {
      // The mirror tells of a request before the answer is there: at an entry that stands before it.
      told = this.#told.get(branch[at - 1]?.id ?? "") ?? told
      if (this.#profile === undefined && ModelRequest.isOf15(entry)) profile = "1.5"
      if (entry.role !== "assistant" || entry.type !== "message") continue
      const [message] = this.#messagesOf(entry, profile)
      // One that says nothing is nobody's target, and what is sent after it does not depend on it.
      if (message === undefined || !ModelRequest.isAnswer(message) || !saysSomething(message)) continue
      const asked = this.#ask(branch, at, { model: ModelRequest.modelOf(message), profile, told }, sent)
      if (asked.change !== undefined) {
        this.#close(run, sent, branch)
        run = undefined
        apart = asked.change
      }
      const isTaken = this.#taken.has(entry)
      if (isTaken || !this.#isTarget(entry)) {
        this.#close(run, sent, branch)
        run = undefined
        apart = isTaken ? "branch" : "untrained"
      } else {
        run ??= { start: apart, firstTarget: asked.sent.messages.length, targets: [] }
        run.targets.push(entry)
        this.#taken.add(entry)
      }
      asked.sent.messages.push(...this.#answer(entry, asked.sent))
      sent = asked.sent
    }
    this.#close(run, sent, branch)
  }

  /** The request for the answer at `at`, as a continuation of what was sent before where it is one. */
  #ask(
    branch: ReadonlyArray<SessionEntry>,
    at: number,
    { model, profile, told }: Pick<Sent, "model" | "profile" | "told">,
    before: Sent | undefined
  ): { readonly sent: Sent; readonly change: RunStart | undefined } {
    if (
      before !== undefined &&
      isPlain(branch, before.at + 1, at) &&
      before.profile === profile &&
      before.told?.sha256 === told?.sha256 &&
      isOne(before.model, model)
    ) {
      // Whatever was open is closed where an answer stands, so what follows it does not depend on what is before it.
      const { messages } = ModelRequest.of(branch.slice(before.at, at), model, profile, this.#messagesOf)
      before.messages.push(...messages.slice(1))
      return { sent: { ...before, at }, change: undefined }
    }
    // The whole request is made anew, and compared with the one before it.
    this.#budget?.charge("requests", at * ENTRY_STEPS)
    const { messages, systemMessages } = ModelRequest.of(branch.slice(0, at), model, profile, this.#messagesOf)
    this.#budget?.charge("requests", 0, messages.length * ENTRY_BYTES)
    const sent = { at, profile, model, systemMessages, told, messages: [...messages] }
    if (before === undefined) return { sent, change: "session" }
    const change = changeOf(before, sent, branch, at)
    return { sent, change }
  }

  /** An answer as it is sent again to the model that gave it. */
  #answer(entry: SessionEntry, { model, profile }: Sent): ReadonlyArray<ModelRequest.SentMessage> {
    return ModelRequest.of([entry], model, profile, this.#messagesOf).messages.slice(0, 1)
  }

  #close(run: OpenRun | undefined, sent: Sent | undefined, branch: ReadonlyArray<SessionEntry>): void {
    const last = run?.targets.at(-1)
    if (run === undefined || sent === undefined || last === undefined) return
    this.#budget?.charge("requests", branch.length, (branch.length + sent.messages.length) * POINTER_BYTES)
    const end = sent.messages.findLastIndex(({ of }) => of?.entry === last)
    this.runs.push({
      start: run.start,
      profile: sent.profile,
      model: sent.model,
      systemMessages: sent.systemMessages,
      told: sent.told,
      messages: sent.messages.slice(0, end + 1),
      firstTarget: run.firstTarget,
      targets: run.targets,
      branch: branch.slice(0, branch.indexOf(last) + 1)
    })
  }

  /** Entries are decoded once, however many requests hold them. */
  readonly #messagesOf: SessionContext.MessagesOf = (entry, profile) => {
    const known = this.#messages[profile].get(entry)
    if (known !== undefined) return known
    const messages = SessionContext.entryMessages(entry, profile)
    this.#messages[profile].set(entry, messages)
    return messages
  }
}

/** Of an entry or a message in an array. */
const POINTER_BYTES = 8

/** Entries that change what was sent before, or may. */
const CHANGING = new Set(["compaction", "context_edit"])

const isPlain = (branch: ReadonlyArray<SessionEntry>, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) {
    const entry = branch[at]
    if (entry === undefined || CHANGING.has(entry.type) || entry.role === "system") return false
  }
  return true
}

const isOne = (a: ModelContext.TargetModel, b: ModelContext.TargetModel): boolean =>
  a.provider === b.provider && a.api === b.api && a.id === b.id

/** Why a request is no continuation of the one before it and its answer; undefined when it is one. */
const changeOf = (before: Sent, now: Sent, branch: ReadonlyArray<SessionEntry>, at: number): RunStart | undefined => {
  const between = branch.slice(before.at + 1, at)
  const goesOn =
    before.messages.length <= now.messages.length &&
    before.messages.every(({ message }, i) => ModelRequest.isSame(message, now.messages[i]?.message ?? {}))
  if (!goesOn) {
    if (between.some(({ type }) => type === "compaction")) return "compaction"
    if (between.some(({ type }) => type === "context_edit")) return "context_edit"
    return isOne(before.model, now.model) ? "history" : "model"
  }
  return isSameSystem(before, now) ? undefined : "system"
}

const isSameSystem = (a: Sent, b: Sent): boolean => {
  if (a.told?.sha256 !== b.told?.sha256) return false
  const [left, right] = [a, b].map(({ systemMessages }) => systemMessages.map(({ message }) => message))
  if (left === undefined || right === undefined) return false
  if (left.length === right.length && left.every((message, i) => message === right[i])) return true
  return (
    ModelContext.systemPrompt(left) === ModelContext.systemPrompt(right) &&
    ValueText.stringify(ModelContext.tools(left)) === ValueText.stringify(ModelContext.tools(right))
  )
}

/** Whether an answer has text or calls in what is sent of it. */
const saysSomething = (message: JsonObject): boolean =>
  WellFormed.text(ModelContext.contentText(message["content"])).trim() !== "" || callsOf(message).length > 0
