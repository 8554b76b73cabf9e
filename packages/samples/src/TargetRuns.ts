/**
 * Groups the targets of a session into runs. In a run, each request is the previous request plus its answer and the new
 * messages, so one sample can contain the whole run with the exact context of each answer.
 *
 * A run ends where requests change in another way: at a compaction, a context edit, another branch, another system prompt
 * or other tools, a model that receives other thinking. Each answer is a target in one run only. Answers shared by several
 * branches are targets of the first branch and context of the others.
 */
import * as EntryType from "@pi-sessions/core/EntryType"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import * as ModelRequest from "@pi-sessions/core/ModelRequest"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as ValueText from "@pi-sessions/core/ValueText"
import { ENTRY_BYTES, ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type RequestContext, type SessionRequestContexts } from "./RequestContexts.ts"
import { type SampleStart } from "./TrainingSample.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { callsOf } from "./TurnWriter.ts"

export interface TargetRun {
  readonly start: SampleStart
  readonly profile: PiProfile
  /** The model of the last target. */
  readonly model: ModelContext.TargetModel
  readonly systemMessages: ReadonlyArray<ModelRequest.SentMessage>
  /** The system prompt and tools that the mirror recorded, if any. */
  readonly recorded: RequestContext | undefined
  /** The request for the last target, and its answer. Every earlier request of the run is a prefix. */
  readonly messages: ReadonlyArray<ModelRequest.SentMessage>
  /** Index of the first target in `messages`; answers before it are context. */
  readonly firstTarget: number
  /** Entries of the targets, in order. */
  readonly targets: ReadonlyArray<SessionEntry>
  /** From the root to the last target. */
  readonly branch: ReadonlyArray<SessionEntry>
}

export interface RunOptions {
  /** Default: "active". With "all", the active branch comes first. */
  readonly branches?: "active" | "all"
  /** The Pi version that made the requests. Default: detected on each branch. */
  readonly profile?: PiProfile
  /** What the mirror recorded for this session. Default: nothing. */
  readonly requestContexts?: SessionRequestContexts
  /** Whether an answer may be a target; others are context. Default: every answer. */
  readonly isTarget?: (entry: SessionEntry) => boolean
  /** Default: no limit. */
  readonly budget?: SessionBudget
}

/** The runs of a session in the order of their branches, the active branch first. */
export const runs = (tree: SessionTree, options: RunOptions = {}): ReadonlyArray<TargetRun> => {
  const cutter = new RunCutter(options)
  // A damaged line at the end hides the leaf from Pi, but the answers before it are still targets.
  const leaf = tree.getLeafEntry() ?? tree.getEntries().at(-1)
  const ends = options.branches === "all" ? tree.leaves() : []
  for (const end of new Set(leaf === undefined ? ends : [leaf, ...ends])) cutter.cut(tree.branchTo(end))
  return cutter.runs
}

/** The latest request of a branch and its answer. */
interface Sent {
  readonly at: number
  readonly profile: PiProfile
  readonly model: ModelContext.TargetModel
  readonly systemMessages: ReadonlyArray<ModelRequest.SentMessage>
  readonly recorded: RequestContext | undefined
  /** Grows while requests extend each other; copies are taken by length. */
  readonly messages: Array<ModelRequest.SentMessage>
}

interface OpenRun {
  readonly start: SampleStart
  readonly firstTarget: number
  readonly targets: Array<SessionEntry>
}

type Messages = ReadonlyArray<JsonObject>

class RunCutter {
  readonly runs: Array<TargetRun> = []
  readonly #profile: PiProfile | undefined
  readonly #isTarget: (entry: SessionEntry) => boolean
  readonly #requestContexts: SessionRequestContexts
  readonly #budget: SessionBudget | undefined
  readonly #taken = new Set<SessionEntry>()
  readonly #messages = { "0.78": new Map<SessionEntry, Messages>(), "1.5": new Map<SessionEntry, Messages>() }

  constructor({ budget, isTarget = () => true, profile, requestContexts = new Map() }: RunOptions) {
    this.#budget = budget
    this.#profile = profile
    this.#requestContexts = requestContexts
    this.#isTarget = isTarget
  }

  cut(branch: ReadonlyArray<SessionEntry>): void {
    this.#budget?.charge("requests", branch.length * ENTRY_STEPS)
    let sent: Sent | undefined
    let run: OpenRun | undefined
    let nextStart: SampleStart = "session"
    let profile: PiProfile = this.#profile ?? "0.78"
    let recorded = this.#requestContexts.get("")
    for (const [at, entry] of branch.entries()) {
      // The mirror records a request at the entry before it.
      recorded = this.#requestContexts.get(branch[at - 1]?.id ?? "") ?? recorded
      if (this.#profile === undefined && ModelRequest.isOf15(entry)) profile = "1.5"
      if (entry.role !== "assistant" || entry.type !== "message") continue
      const [message] = this.#messagesOf(entry, profile)
      // An empty answer is never a target, and later requests do not contain it.
      if (message === undefined || !ModelRequest.isAnswer(message) || !saysSomething(message)) continue
      const asked = this.#ask(branch, at, { model: ModelRequest.modelOf(message), profile, recorded }, sent)
      if (asked.change !== undefined) {
        this.#close(run, sent, branch)
        run = undefined
        nextStart = asked.change
      }
      const isTaken = this.#taken.has(entry)
      if (isTaken || !this.#isTarget(entry)) {
        this.#close(run, sent, branch)
        run = undefined
        nextStart = isTaken ? "branch" : "untrained"
      } else {
        run ??= { start: nextStart, firstTarget: asked.sent.messages.length, targets: [] }
        run.targets.push(entry)
        this.#taken.add(entry)
      }
      asked.sent.messages.push(...this.#answer(entry, asked.sent))
      sent = asked.sent
    }
    this.#close(run, sent, branch)
  }

  /** Builds the request for the answer at `at`. `change` is undefined if it continues the request before it. */
  #ask(
    branch: ReadonlyArray<SessionEntry>,
    at: number,
    { model, profile, recorded }: Pick<Sent, "model" | "profile" | "recorded">,
    before: Sent | undefined
  ): { readonly sent: Sent; readonly change: SampleStart | undefined } {
    if (
      before !== undefined &&
      isPlain(branch, before.at + 1, at) &&
      before.profile === profile &&
      before.recorded?.sha256 === recorded?.sha256 &&
      isSameModel(before.model, model)
    ) {
      // An answer closes all open calls, so the messages after it do not depend on those before it.
      const { messages } = ModelRequest.of(branch.slice(before.at, at), model, profile, this.#messagesOf)
      before.messages.push(...messages.slice(1))
      return { sent: { ...before, at }, change: undefined }
    }
    // Builds the whole request and compares it with the one before it.
    this.#budget?.charge("requests", at * ENTRY_STEPS)
    const { messages, systemMessages } = ModelRequest.of(branch.slice(0, at), model, profile, this.#messagesOf)
    this.#budget?.charge("requests", 0, messages.length * ENTRY_BYTES)
    const sent = { at, profile, model, systemMessages, recorded, messages: [...messages] }
    return { sent, change: before === undefined ? "session" : changeOf(before, sent, branch, at) }
  }

  /** The answer as the model that gave it receives it in later requests. */
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
      recorded: sent.recorded,
      messages: sent.messages.slice(0, end + 1),
      firstTarget: run.firstTarget,
      targets: run.targets,
      branch: branch.slice(0, branch.indexOf(last) + 1)
    })
  }

  /** Decodes each entry once, although many requests contain it. */
  readonly #messagesOf: SessionContext.MessagesOf = (entry, profile) => {
    const known = this.#messages[profile].get(entry)
    if (known !== undefined) return known
    const messages = SessionContext.entryMessages(entry, profile)
    this.#messages[profile].set(entry, messages)
    return messages
  }
}

/** Memory of an array element. */
const POINTER_BYTES = 8

const isPlain = (branch: ReadonlyArray<SessionEntry>, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) {
    const entry = branch[at]
    if (entry === undefined || EntryType.of(entry.type).context === "rewrite" || entry.role === "system") return false
  }
  return true
}

const isSameModel = (a: ModelContext.TargetModel, b: ModelContext.TargetModel): boolean =>
  a.provider === b.provider && a.api === b.api && a.id === b.id

/** Why a request does not continue the one before it; undefined if it does. */
const changeOf = (
  before: Sent,
  now: Sent,
  branch: ReadonlyArray<SessionEntry>,
  at: number
): SampleStart | undefined => {
  const between = branch.slice(before.at + 1, at)
  const continues =
    before.messages.length <= now.messages.length &&
    before.messages.every(({ message }, i) => ModelRequest.isSame(message, now.messages[i]?.message ?? {}))
  if (!continues) {
    if (between.some(({ type }) => type === "compaction")) return "compaction"
    if (between.some(({ type }) => type === "context_edit")) return "context_edit"
    return isSameModel(before.model, now.model) ? "history" : "model"
  }
  return isSameSystem(before, now) ? undefined : "system"
}

const isSameSystem = (a: Sent, b: Sent): boolean => {
  if (a.recorded?.sha256 !== b.recorded?.sha256) return false
  const [left, right] = [a, b].map(({ systemMessages }) => systemMessages.map(({ message }) => message))
  if (left === undefined || right === undefined) return false
  if (left.length === right.length && left.every((message, i) => message === right[i])) return true
  return (
    ModelContext.systemPrompt(left) === ModelContext.systemPrompt(right) &&
    ValueText.stringify(ModelContext.tools(left)) === ValueText.stringify(ModelContext.tools(right))
  )
}

/** Whether an answer has text or calls after conversion. */
const saysSomething = (message: JsonObject): boolean =>
  WellFormed.text(ModelContext.contentText(message["content"])).trim() !== "" || callsOf(message).length > 0
