/**
 * The steps of a random walk through a session: chosen by a seed, described without Pi's random ids, then done.
 *
 * An operation names entries by their place among `getEntries()` at that moment, so that the log of a walk is the same
 * each time, and can be done again on another session.
 */
import type { PiContent, PiEntry, PiMessage, PiSessionManager } from "../pi/PiModule.ts"
import * as RandomMessage from "./RandomMessage.ts"

/** One step of a walk. */
export type WalkOperation =
  | { readonly op: "message"; readonly message: PiMessage }
  | { readonly op: "thinkingLevel"; readonly level: string }
  | { readonly op: "model"; readonly provider: string; readonly model: string }
  | {
      readonly op: "compaction"
      readonly summary: string
      /** Null keeps nothing; only 1.5. */
      readonly firstKept: number | null
      readonly tokensBefore: number
      readonly details: unknown
      readonly fromHook: boolean
      readonly usage: unknown
    }
  | { readonly op: "label"; readonly target: number; readonly label: string | undefined }
  | { readonly op: "custom"; readonly customType: string; readonly data: unknown }
  | {
      readonly op: "customMessage"
      readonly customType: string
      readonly content: PiContent
      readonly display: boolean
      readonly details: unknown
    }
  | { readonly op: "sessionInfo"; readonly name: string }
  | {
      readonly op: "usage"
      readonly provider: string
      readonly model: string
      readonly usage: unknown
      readonly note: string
    }
  | {
      readonly op: "contextEdit"
      readonly target: number
      readonly replacement: { readonly content: PiContent } | null
    }
  | { readonly op: "branch"; readonly target: number }
  | { readonly op: "resetLeaf" }
  | {
      readonly op: "branchWithSummary"
      readonly target: number | null
      readonly summary: string
      readonly details: unknown
      readonly fromHook: boolean
      readonly usage: unknown
    }
  | { readonly op: "fork"; readonly target: number }

/** What a walk carries from step to step. */
export interface WalkState {
  readonly messages: RandomMessage.RandomMessages
  /** The calls of the latest assistant message that have no result yet. */
  openCalls: ReadonlyArray<RandomMessage.OpenToolCall>
  /** Whether the model has the word. */
  assistantIsNext: boolean
}

type Kind = Exclude<WalkOperation["op"], "message"> | "user" | "assistant" | "bashExecution" | "system"

const chooseKind = ({ assistantIsNext, messages: { random, version } }: WalkState): Kind => {
  if (assistantIsNext && random.chance(0.85)) return "assistant"
  const newer = (weight: number) => (version === "0.78" ? 0 : weight)
  return random.weighted<Kind>(
    [28, "user"],
    [12, "assistant"],
    [5, "bashExecution"],
    [4, "thinkingLevel"],
    [4, "model"],
    [6, "compaction"],
    [8, "label"],
    [5, "custom"],
    [6, "customMessage"],
    [3, "sessionInfo"],
    [8, "branch"],
    [1, "resetLeaf"],
    [4, "branchWithSummary"],
    [2, "fork"],
    [newer(3), "system"],
    [newer(3), "usage"],
    [newer(6), "contextEdit"]
  )
}

const isEditable = (entry: PiEntry): boolean => {
  if (entry.type === "custom_message") return true
  const message = entry["message"]
  return (
    entry.type === "message" &&
    typeof message === "object" &&
    message !== null &&
    "role" in message &&
    (message.role === "user" || message.role === "assistant" || message.role === "toolResult")
  )
}

/** Lets the user or the model speak, which is possible whatever the session holds. */
const say = (state: WalkState, kind: "user" | "assistant"): WalkOperation => {
  if (kind === "user") {
    state.assistantIsNext = true
    return { op: "message", message: RandomMessage.user(state.messages) }
  }
  const { message, openCalls } = RandomMessage.assistant(state.messages)
  state.openCalls = openCalls
  state.assistantIsNext = false
  return { op: "message", message }
}

const answerCall = (state: WalkState, call: RandomMessage.OpenToolCall): WalkOperation => {
  state.openCalls = state.openCalls.slice(1)
  state.assistantIsNext = state.openCalls.length === 0
  return { op: "message", message: RandomMessage.toolResult(state.messages, call) }
}

/** Chooses a step that moves the leaf. No tool result is pending after it. */
const move = (
  state: WalkState,
  entries: ReadonlyArray<PiEntry>,
  kind: "branch" | "resetLeaf" | "branchWithSummary" | "fork"
): WalkOperation => {
  const { random, version } = state.messages
  state.openCalls = []
  state.assistantIsNext = false
  const target = random.int(entries.length)
  switch (kind) {
    case "resetLeaf":
      return { op: "resetLeaf" }
    case "branch":
      return { op: "branch", target }
    case "fork":
      return { op: "fork", target: random.chance(0.4) ? entries.length - 1 : target }
    case "branchWithSummary":
      return {
        op: "branchWithSummary",
        target: random.chance(0.1) ? null : target,
        summary: RandomMessage.text(random),
        details: random.chance(0.5) ? { readFiles: ["a.ts"], modifiedFiles: [] } : undefined,
        fromHook: random.chance(0.3),
        usage: version !== "0.78" && random.chance(0.5) ? RandomMessage.usage(version, random) : undefined
      }
  }
}

const compaction = (
  { messages: { random, version } }: WalkState,
  entries: ReadonlyArray<PiEntry>,
  branch: ReadonlyArray<PiEntry>
): WalkOperation => {
  // Mostly near the end, as Pi does it, and at times anywhere, before older compactions too.
  const kept = random.chance(0.6) ? Math.max(0, branch.length - 1 - random.int(8)) : random.int(branch.length)
  const newer = version !== "0.78"
  return {
    op: "compaction",
    summary: RandomMessage.text(random),
    firstKept: newer && random.chance(0.1) ? null : entries.findIndex(({ id }) => id === branch[kept]?.id),
    tokensBefore: random.int(200_000),
    details: random.chance(0.7) ? { readFiles: ["a.ts", "b\u2028.ts"], modifiedFiles: ["c.ts"] } : undefined,
    fromHook: random.chance(0.2),
    usage: newer && random.chance(0.5) ? RandomMessage.usage(version, random) : undefined
  }
}

const contextEdit = (
  { messages: { random } }: WalkState,
  entries: ReadonlyArray<PiEntry>,
  editable: ReadonlyArray<PiEntry>
): WalkOperation => {
  const target = editable[random.int(editable.length)]
  return {
    op: "contextEdit",
    target: entries.findIndex(({ id }) => id === target?.id),
    replacement: random.chance(0.4) ? null : { content: RandomMessage.content(random) }
  }
}

/** Chooses the next step for a session and updates the state. Never chooses what Pi would refuse. */
export const choose = (state: WalkState, manager: PiSessionManager): WalkOperation => {
  const { random, version } = state.messages
  const [call] = state.openCalls
  if (call !== undefined && random.chance(0.9)) return answerCall(state, call)

  const entries = manager.getEntries()
  const branch = manager.getBranch()
  const kind = chooseKind(state)
  switch (kind) {
    case "user":
    case "assistant":
      return say(state, kind)
    case "bashExecution":
      return { op: "message", message: RandomMessage.bashExecution(state.messages) }
    case "system":
      return { op: "message", message: RandomMessage.system(state.messages) }
    case "thinkingLevel":
      return { op: "thinkingLevel", level: random.pick(["off", "minimal", "low", "medium", "high", "xhigh"]) }
    case "model": {
      const { provider, model } = random.pick(RandomMessage.models)
      return { op: "model", provider, model }
    }
    case "custom":
      return { op: "custom", customType: random.pick(["todo", "häkchen"]), data: RandomMessage.json(random) }
    case "customMessage":
      return {
        op: "customMessage",
        customType: random.pick(["note", "reminder"]),
        content: RandomMessage.content(random),
        display: random.chance(0.5),
        details: RandomMessage.json(random)
      }
    case "sessionInfo":
      return { op: "sessionInfo", name: RandomMessage.text(random) }
    case "usage": {
      const { provider, model } = random.pick(RandomMessage.models)
      const note = random.chance(0.3) ? "warm" : ""
      return { op: "usage", provider, model, usage: RandomMessage.usage(version, random), note }
    }
    case "label": {
      if (entries.length === 0) return say(state, "user")
      const label = random.weighted<string | false>([5, RandomMessage.text(random)], [3, "checkpoint"], [3, false])
      return { op: "label", target: random.int(entries.length), label: label === false ? undefined : label }
    }
    case "compaction":
      return branch.length === 0 ? say(state, "user") : compaction(state, entries, branch)
    case "contextEdit": {
      const editable = branch.filter(isEditable)
      return editable.length === 0 ? say(state, "user") : contextEdit(state, entries, editable)
    }
    case "branch":
    case "resetLeaf":
    case "branchWithSummary":
    case "fork":
      return entries.length === 0 ? say(state, "user") : move(state, entries, kind)
  }
}

/** Does a step. Throws where Pi does, and when the session lacks an entry or its Pi a method that the step needs. */
export const apply = (manager: PiSessionManager, operation: WalkOperation): void => {
  const idAt = (place: number): string => {
    const entry = manager.getEntries()[place]
    if (entry === undefined) throw new RangeError(`${operation.op}: no entry ${place}`)
    return entry.id
  }
  const idAtOrNull = (place: number | null): string | null => (place === null ? null : idAt(place))
  switch (operation.op) {
    case "message":
      return void manager.appendMessage(operation.message)
    case "thinkingLevel":
      return void manager.appendThinkingLevelChange(operation.level)
    case "model":
      return void manager.appendModelChange(operation.provider, operation.model)
    case "compaction":
      return void manager.appendCompaction(
        operation.summary,
        idAtOrNull(operation.firstKept),
        operation.tokensBefore,
        operation.details,
        operation.fromHook,
        operation.usage
      )
    case "label":
      return void manager.appendLabelChange(idAt(operation.target), operation.label)
    case "custom":
      return void manager.appendCustomEntry(operation.customType, operation.data)
    case "customMessage":
      return void manager.appendCustomMessageEntry(
        operation.customType,
        operation.content,
        operation.display,
        operation.details
      )
    case "sessionInfo":
      return void manager.appendSessionInfo(operation.name)
    case "usage": {
      if (manager.appendUsage === undefined) throw new Error("this Pi has no usage entries")
      const { provider, model, usage, note } = operation
      return void manager.appendUsage("cache_warm", provider, model, usage, note)
    }
    case "contextEdit":
      if (manager.appendContextEdit === undefined) throw new Error("this Pi has no context edits")
      return void manager.appendContextEdit(idAt(operation.target), operation.replacement)
    case "branch":
      return manager.branch(idAt(operation.target))
    case "resetLeaf":
      return manager.resetLeaf()
    case "branchWithSummary": {
      const { target, summary, details, fromHook, usage } = operation
      return void manager.branchWithSummary(idAtOrNull(target), summary, details, fromHook, usage)
    }
    case "fork":
      return void manager.createBranchedSession(idAt(operation.target))
  }
}
