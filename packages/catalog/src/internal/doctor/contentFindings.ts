/**
 * Findings in messages and tool calls. A fault outside of the context harms no Pi until the user returns to that
 * branch.
 */
import * as EntryId from "@pi-sessions/core/EntryId"
import { type Json, type JsonObject, objectAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import { both, rules } from "../../FindingRule.ts"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import type { Code, Finding, PiReaction } from "../../SessionFinding.ts"
import { type FindingList } from "./FindingList.ts"
import { Forest, parentsOf } from "./Forest.ts"
import { KeptPairs } from "./KeptPairs.ts"
import { match } from "./ToolLinks.ts"
import { compactionFault } from "./compactionFault.ts"
import { findingAt, placeOf } from "./findingAt.ts"
import * as countedTokens from "./countedTokens.ts"
import { withRole } from "../repair/mendedEntry.ts"
import {
  type Fault,
  type FaultCode,
  type MessageFacts,
  type RoleOf,
  factsOf,
  isUncountable,
  roleAmong
} from "./messageFacts.ts"

const SAYS: { readonly [fault in FaultCode]: string } = {
  "missing-message": "an entry of type message without a message",
  "missing-role": "a message without a role that Pi knows",
  "missing-content": "a message without content",
  "odd-content": "the content is neither text nor a list of blocks",
  "text-content": "the content is text where blocks belong",
  "null-block": "a block of the content is null",
  "unknown-block": "a block of the content is of no type that Pi knows there, or an image without its data",
  "empty-block": "a block of text or thinking without its text",
  "odd-text": "the text of a block is no text",
  "broken-call": "a tool call without its name or its arguments",
  "missing-call-id": "a tool call without an id, or with an empty one",
  "missing-usage": "an assistant's message without its usage",
  "odd-usage": "the usage of an assistant's message holds what is no number",
  "odd-error": "the error of a failed turn is no text",
  "missing-command": "a command that a person ran, without its text or its output",
  "odd-command": "a command that a person ran, whose text or output is no text",
  "missing-summary": "a compaction without its summary",
  "odd-summary": "a summary that is no text",
  "odd-system": "a system message whose content, sections or tools are not what they should be",
  "odd-timestamp": "a timestamp of which no date can be made",
  "odd-model": "the name of a model or of its provider is no text",
  "broken-edit": "a context edit without a replacement that could be sent"
}

/** Decodes each message once and keeps the few members that are needed later, because sessions are large. */
class Outlines {
  readonly #messages = new Map<SessionEntry, JsonObject>()
  readonly #roleOf: RoleOf

  constructor(roleOf: RoleOf) {
    this.#roleOf = roleOf
  }

  /** The facts of an entry. Keeps what `messagesOf` needs. */
  factsOf(entry: SessionEntry): MessageFacts | undefined {
    if (entry.type !== "message") return factsOf(entry, this.#roleOf)
    const payload = entry.decode()
    const message = objectAt(payload, "message")
    if (message !== undefined) {
      const { role, stopReason, timestamp, usage } = message
      this.#messages.set(entry, { role, stopReason, timestamp, usage })
    }
    return factsOf(entry, this.#roleOf, payload)
  }

  readonly messagesOf: SessionContext.MessagesOf = (entry, profile) => {
    const message = this.#messages.get(entry)
    if (message !== undefined) return [message]
    return entry.type === "message" ? [] : SessionContext.entryMessages(entry, profile)
  }
}

type Items = ReadonlyArray<SessionContext.ContextItem>

const DORMANT = both("reads", "does not come across it, unless someone goes back to its branch")
const OLDER = { does: "reads", says: "asks only the last answer for its tokens" } as const
const UNSENT = both("reads", "does not send the turn, which failed, and does not ask for its tokens")
const UNADDED = both("reads", "does not ask for the rest where there is a total")
const COUNTS = { does: "crashes", says: "fails where it counts the tokens of its text" } as const
const UNCOUNTED = { does: "reads", says: "does not look at it closely, for a later answer tells the tokens" } as const
const UNAPPLIED = both("reads", "does not apply it to anything that it sends")
const PAST = both("reads", "looks only at the error of the last turn")
const UNNAMED = both("reads", "does not ask for it, for the branch names another model later")
const NO_IMAGE = { does: "missends", says: "sends it as an image without data, which providers do not take" } as const
const NOTHING_LOST = { does: "reads", says: "leaves it out; there is no text in it" } as const
const LOSES = { does: "loses", says: "leaves out its text without a word" } as const
const FAILS = { does: "crashes", says: "fails where it reads it" } as const

/** What a finding depends on besides its entry. */
interface Surroundings {
  readonly onBranch: ReadonlySet<SessionEntry>
  /** By version: the entries that Pi selects from the branch, and those of them that it sends. */
  readonly selected: EntriesOf
  readonly sent: EntriesOf
  readonly counted: CountedEntries
  /** Context edits that 1.5 applies, with their targets. */
  readonly applied: ReadonlyMap<SessionEntry, SessionEntry>
  /** The entry that sets the model of the next turn. */
  readonly model: SessionEntry | undefined
  readonly firstAnswer: SessionEntry | undefined
  readonly lastAnswer: SessionEntry | undefined
  /** The answer besides the last one whose usage 0.78 reads. */
  readonly earlierAnswer: SessionEntry | undefined
}

type EntriesOf = { readonly [version in PiProfile]: ReadonlySet<SessionEntry> }

const surroundingsIn = (tree: SessionTree, messagesOf: SessionContext.MessagesOf): Surroundings => {
  const branch = tree.getBranch()
  // 1.5 omits messages that a context edit removed.
  const items = {
    "0.78": SessionContext.project(branch, "0.78", messagesOf),
    "1.5": SessionContext.project(branch, "1.5", messagesOf)
  }
  const sent = { "0.78": entriesOf(items["0.78"]), "1.5": entriesOf(items["1.5"]) }
  return {
    onBranch: new Set(branch),
    selected: {
      "0.78": new Set(SessionContext.select(branch, "0.78")),
      "1.5": new Set(SessionContext.select(branch, "1.5"))
    },
    sent,
    counted: countedEntries(branch, items),
    applied: appliedEdits(branch, items["1.5"]),
    model: branch.findLast(({ role, type }) => type === "model_change" || role === "assistant"),
    firstAnswer: tree.getEntries().find(({ role }) => role === "assistant"),
    lastAnswer: branch.findLast((entry) => entry.role === "assistant" && sent["0.78"].has(entry)),
    earlierAnswer: countedTokens.earlierUsage(items["0.78"])
  }
}

export const contentFindings = ({ tree }: Session.Session, findings: FindingList): void => {
  const entries = tree.getEntries()
  const outlines = new Outlines(roleAmong((id) => tree.getEntry(id)))
  const facts = entries.map((entry) => outlines.factsOf(entry))
  const forest = new Forest(parentsOf(tree))
  const links = match(facts, forest)
  const pairs = new KeptPairs(forest, links)
  const surroundings = surroundingsIn(tree, outlines.messagesOf)
  const { onBranch, sent } = surroundings
  const indexes = new Map(entries.flatMap(({ id }, index) => (id === null ? [] : [[id, index] as const])))
  const lookup = { entries, indexOf: (id: string) => indexes.get(id) }
  for (const [index, entry] of entries.entries()) {
    const fact = facts[index]
    for (const fault of fact?.faults ?? [])
      findings.push(faultFinding(fault, entry, fact?.failed === true, surroundings))
    if (fact?.resultOf === null && links.byPlace.has(index))
      findings.push(
        finding("missing-call-id", entry, "a tool's result without the id of its call, or with an empty one", sent)
      )
    const orphan = links.orphans.get(index)
    // A result without descendants outside of the branch is already where a repair would move it.
    const stays = !onBranch.has(entry) && !forest.hasChildren(index)
    if (orphan !== undefined)
      findings.push(finding(orphan, entry, orphanSays(fact, orphan), sent, stays ? { mend: null } : {}))
    const open = links.unanswered.get(index)
    if (open !== undefined) findings.push(finding("unanswered-call", entry, `no result for ${names(open)}`, sent))
    if (entry.type === "compaction" && fact?.faults.some(({ code }) => SUMMARIES.has(code)) !== true) {
      const fault = compactionFault(entry, index, lookup, pairs)
      if (fault !== undefined) findings.push(finding(fault.code, entry, fault.message, sent))
    }
  }
}

const SUMMARIES: ReadonlySet<Code> = new Set(["missing-summary", "odd-summary"])

/**
 * `reached`: the entries that each Pi processes. An error that harms neither Pi at present becomes a warning or note.
 */
const finding = (
  code: Code,
  entry: SessionEntry,
  message: string,
  reached: EntriesOf,
  here: Partial<Pick<Finding, "pi" | "mend">> = {}
): Finding => {
  const rule = { ...rules[code], ...here }
  const reaction = (version: PiProfile) => (reached[version].has(entry) ? rule.pi[version] : DORMANT[version])
  const pi = { "0.78": reaction("0.78"), "1.5": reaction("1.5") }
  const isHarmless = pi["0.78"].does === "reads" && pi["1.5"].does === "reads"
  const severity = isHarmless && rule.severity === "error" ? (rule.mend === null ? "note" : "warning") : rule.severity
  return findingAt(code, placeOf(entry), message, { severity, pi, mend: rule.mend })
}

const faultFinding = (fault: Fault, entry: SessionEntry, failed: boolean, surroundings: Surroundings): Finding => {
  const { applied, counted, earlierAnswer, firstAnswer, lastAnswer, model, onBranch, selected, sent } = surroundings
  const { code } = fault
  const says = SAYS[code]
  switch (code) {
    case "missing-message": {
      const early = firstAnswer === undefined || entry.byteOffset < firstAnswer.byteOffset
      return findingAt(code, placeOf(entry), says, onBranch.has(entry) ? {} : offBranch(early))
    }
    case "missing-role": {
      const isMended = withRole(entry.decode()["message"] ?? null) !== undefined
      return finding(code, entry, says, selected, {
        ...faultPi(fault, entry, counted),
        ...(isMended ? {} : { mend: null })
      })
    }
    case "odd-model":
      return finding(code, entry, says, selected, entry === model ? {} : { pi: UNNAMED })
    case "odd-error":
      return finding(code, entry, says, sent, entry === lastAnswer ? {} : { pi: PAST })
    case "missing-usage":
    case "odd-usage": {
      const isAsked = code === "missing-usage" || hasUncountableUsage(entry)
      const isLast = entry === lastAnswer || entry === earlierAnswer
      return finding(code, entry, says, sent, isAsked ? usagePi(failed, isLast) : { pi: UNADDED })
    }
    default: {
      if (entry.type !== "context_edit") return finding(code, entry, says, sent, faultPi(fault, entry, counted))
      const target = applied.get(entry)
      return finding(
        code,
        entry,
        says,
        selected,
        target === undefined ? { pi: UNAPPLIED } : faultPi(fault, target, counted)
      )
    }
  }
}

const names = (ids: ReadonlyArray<string>): string => ids.map((id) => JSON.stringify(id)).join(", ")

const orphanSays = (fact: MessageFacts | undefined, orphan: "orphan-result" | "failed-turn-result"): string => {
  const call =
    fact?.resultOf === null || fact === undefined
      ? "a call that it does not name"
      : `call ${names([fact.resultOf ?? ""])}`
  return orphan === "orphan-result"
    ? `the result of ${call}, which is not on its branch`
    : `the result of ${call}, which was made in a turn that failed or was aborted`
}

/** 0.78 reads the usage of the last answer only. Neither Pi reads that of a failed turn. */
const usagePi = (failed: boolean, isLastAnswer: boolean): Partial<Pick<Finding, "pi">> => {
  if (failed) return { pi: UNSENT }
  return isLastAnswer ? {} : { pi: { "0.78": OLDER, "1.5": rules["missing-usage"].pi["1.5"] } }
}

/** 0.78 reads the role of every message before the first answer, on all branches. */
const offBranch = (early: boolean): Partial<Finding> => {
  const { pi } = rules["missing-message"]
  return early ? { pi: { "0.78": pi["0.78"], "1.5": DORMANT["1.5"] } } : { severity: "warning", pi: DORMANT }
}

/** Entries whose text Pi reads to count tokens: 1.5 in requests, each version before a prompt. */
interface CountedEntries {
  readonly request: ReadonlySet<SessionEntry>
  readonly prompt: { readonly [version in PiProfile]: ReadonlySet<SessionEntry> }
}

const countedEntries = (
  branch: ReadonlyArray<SessionEntry>,
  items: { readonly [version in PiProfile]: Items }
): CountedEntries => ({
  request: countedTokens.inRequest(items["1.5"]),
  prompt: {
    "0.78": countedTokens.beforePrompt(branch, items["0.78"], "0.78"),
    "1.5": countedTokens.beforePrompt(branch, items["1.5"], "1.5")
  }
})

/** What each Pi does with a fault at this position. */
const faultPi = (
  { code, reads }: Fault,
  entry: SessionEntry,
  { prompt, request }: CountedEntries
): Partial<Pick<Finding, "pi">> => {
  if (reads === null) return {}
  const reaction = (version: PiProfile): PiReaction => {
    const { counts, estimates, sends } = reads[version]
    const rule = rules[code].pi[version]
    if (estimates && prompt[version].has(entry)) return COUNTS
    if (sends === "crashes") return rule.does === "crashes" ? rule : FAILS
    if (counts && request.has(entry)) return COUNTS
    if (rule.does === sends && sends !== "reads") return rule
    if (sends === "missends") return NO_IMAGE
    if (sends === "loses") return LOSES
    if (counts) return UNCOUNTED
    return rule.does === "reads" ? rule : NOTHING_LOST
  }
  return { pi: { "0.78": reaction("0.78"), "1.5": reaction("1.5") } }
}

const hasUncountableUsage = (entry: SessionEntry): boolean =>
  isUncountable(objectAt(entry.decode(), "message")?.["usage"])

const EDITABLE: ReadonlySet<Json | undefined> = new Set(["user", "assistant", "toolResult", "custom"])

/** The context edits that 1.5 applies, with their targets: the last edit of each message that it sends. */
const appliedEdits = (branch: ReadonlyArray<SessionEntry>, items: Items): ReadonlyMap<SessionEntry, SessionEntry> => {
  const last = new Map<string, SessionEntry>()
  for (const entry of branch) {
    const targetId = entry.type === "context_edit" ? EntryId.read(entry.decode()["targetId"]) : null
    if (targetId !== null) last.set(targetId, entry)
  }
  const applied = new Map<SessionEntry, SessionEntry>()
  for (const { entry, message } of items) {
    const edit = entry.id === null || !EDITABLE.has(message["role"]) ? undefined : last.get(entry.id)
    if (edit !== undefined) applied.set(edit, entry)
  }
  return applied
}

/** The entries of which Pi sends something. */
const entriesOf = (items: Items): ReadonlySet<SessionEntry> => new Set(items.map(({ entry }) => entry))
