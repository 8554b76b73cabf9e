/** What is to be said of messages and tools. What stands outside of the context waits until someone goes back there. */
import { type Json, stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { both, rules } from "../FindingRule.ts"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import type { Code, Finding, PiReaction } from "../SessionFinding.ts"
import { Forest, parentsOf } from "./Forest.ts"
import { type BlockCode, type Stumble } from "./blockFaults.ts"
import { match } from "./ToolLinks.ts"
import { compactionFault } from "./compactionFault.ts"
import { findingAt, placeOf } from "./findingAt.ts"
import * as countedTokens from "./countedTokens.ts"
import { type Fault, type FaultCode, type MessageFacts, look } from "./messageFacts.ts"

const SAYS: { readonly [fault in FaultCode]: string } = {
  "missing-message": "an entry of type message without a message",
  "missing-role": "a message without a role",
  "missing-content": "a message without content",
  "odd-content": "the content is neither text nor a list of blocks",
  "text-content": "the content is text where blocks belong",
  "null-block": "a block of the content is null",
  "unknown-block": "a block of the content is of no kind that Pi knows there, or an image without its data",
  "empty-block": "a block of text or thinking without its text",
  "broken-call": "a tool call without its id, its name or its arguments",
  "missing-usage": "an assistant's message without its usage",
  "missing-command": "a command that a person ran, without its text or its output",
  "missing-summary": "a compaction without its summary",
  "broken-edit": "a context edit without a replacement that could be sent"
}

type Items = ReadonlyArray<SessionContext.ContextItem>

const DORMANT = both("reads", "does not come across it, unless someone goes back to its branch")
const OLDER = { does: "reads", says: "asks only the last answer for its tokens" } as const
const UNSENT = both("reads", "does not send the turn, which failed, and does not ask for its tokens")
const COUNTS = { does: "crashes", says: "fails where it counts the tokens of its text" } as const
const TOLD = { does: "reads", says: "does not look at it closely, for a later answer tells the tokens" } as const
const UNAPPLIED = both("reads", "does not apply it to anything that it sends")
const NO_IMAGE = { does: "missends", says: "sends it as an image without data, which providers do not take" } as const

export const contentFindings = ({ tree }: Session.Session): ReadonlyArray<Finding> => {
  const entries = tree.getEntries()
  const facts = entries.map(look)
  const forest = new Forest(parentsOf(tree))
  const links = match(facts, forest)
  const branch = tree.getBranch()
  const onBranch = new Set(branch)
  // 1.5 leaves out what a context edit took away.
  const items = { "0.78": SessionContext.project(branch, "0.78"), "1.5": SessionContext.project(branch, "1.5") }
  const sent = { "0.78": entriesOf(items["0.78"]), "1.5": entriesOf(items["1.5"]) }
  const closely = closelyRead(branch, items)
  const applied = appliedEdits(branch, items["1.5"])
  const lastAnswer = branch.findLast((entry) => entry.role === "assistant" && sent["0.78"].has(entry))
  const firstAnswer = entries.find(({ role }) => role === "assistant")
  const indexes = new Map(entries.flatMap(({ id }, index) => (id === null ? [] : [[id, index] as const])))
  const lookup = { entries, indexOf: (id: string) => indexes.get(id) }
  const findings: Array<Finding> = []

  /** Where neither Pi stumbles over it as things are, it is worth a warning. */
  const add = (
    code: Code,
    entry: SessionEntry,
    message: string,
    here: Partial<Pick<Finding, "pi" | "mend">> = {}
  ): void => {
    const rule = { ...rules[code], ...here }
    const reaction = (version: PiProfile) => (sent[version].has(entry) ? rule.pi[version] : DORMANT[version])
    const pi = { "0.78": reaction("0.78"), "1.5": reaction("1.5") }
    const isHarmless = pi["0.78"].does === "reads" && pi["1.5"].does === "reads"
    const severity = isHarmless && rule.severity === "error" ? (rule.mend === null ? "note" : "warning") : rule.severity
    findings.push(findingAt(code, placeOf(entry), message, { severity, pi, mend: rule.mend }))
  }

  for (const [index, entry] of entries.entries()) {
    const fact = facts[index]
    for (const fault of fact?.faults ?? []) {
      const { code } = fault
      const says = SAYS[code]
      if (code === "missing-usage") add(code, entry, says, usagePi(fact?.failed === true, entry === lastAnswer))
      else if (code === "missing-message") {
        const early = firstAnswer === undefined || entry.byteOffset < firstAnswer.byteOffset
        findings.push(findingAt(code, placeOf(entry), says, onBranch.has(entry) ? {} : offBranch(early)))
      } else if (code === "broken-edit") {
        const here = applied.has(entry) ? {} : { pi: UNAPPLIED, severity: "warning" as const }
        findings.push(findingAt(code, placeOf(entry), says, here))
      } else add(code, entry, says, faultPi(fault, entry, closely))
    }
    const orphan = links.orphans.get(index)
    // One that nothing hangs on is where a repair would put it.
    const stays = !onBranch.has(entry) && !forest.hasChildren(index)
    if (orphan !== undefined) add(orphan, entry, orphanSays(fact, orphan), stays ? { mend: null } : {})
    const open = links.unanswered.get(index)
    if (open !== undefined) add("unanswered-call", entry, `no result for ${names(open)}`)
    if (entry.type === "compaction" && fact === undefined) {
      const fault = compactionFault(entry, index, lookup, forest, links)
      if (fault !== undefined) add(fault.code, entry, fault.message)
    }
  }
  return findings
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

/** 0.78 asks for the tokens of the last answer only, neither asks for those of a turn that failed. */
const usagePi = (failed: boolean, isLastAnswer: boolean): Partial<Pick<Finding, "pi">> => {
  if (failed) return { pi: UNSENT }
  return isLastAnswer ? {} : { pi: { "0.78": OLDER, "1.5": rules["missing-usage"].pi["1.5"] } }
}

/** On its way to the first answer, 0.78 asks every message for its role. */
const offBranch = (early: boolean): Partial<Finding> => {
  const { pi } = rules["missing-message"]
  return early ? { pi: { "0.78": pi["0.78"], "1.5": DORMANT["1.5"] } } : { severity: "warning", pi: DORMANT }
}

/** By version, the entries whose text a Pi looks at to count tokens: in its requests, and before a prompt. */
interface CloselyRead {
  readonly request: ReadonlySet<SessionEntry>
  readonly prompt: { readonly [version in PiProfile]: ReadonlySet<SessionEntry> }
}

const closelyRead = (
  branch: ReadonlyArray<SessionEntry>,
  items: { readonly [version in PiProfile]: Items }
): CloselyRead => ({
  request: countedTokens.inRequest(items["1.5"]),
  prompt: {
    "0.78": countedTokens.beforePrompt(branch, items["0.78"], "0.78"),
    "1.5": countedTokens.beforePrompt(branch, items["1.5"], "1.5")
  }
})

/** What the Pis do with a fault here, where that is not what its rule says. */
const faultPi = (fault: Fault, entry: SessionEntry, { prompt, request }: CloselyRead): Partial<Pick<Finding, "pi">> => {
  const { code } = fault
  if ("does" in fault) {
    // Before a prompt, Pi looks closely at answers only, and passes over blocks of a kind that it does not know.
    const isText = fault.does["1.5"] === "counts" && entry.role === "assistant" && fault.code !== "unknown-block"
    const reaction = (version: PiProfile) =>
      isText && prompt[version].has(entry) ? COUNTS : stumble(fault.code, fault.does[version], request.has(entry))
    return { pi: { "0.78": reaction("0.78"), "1.5": reaction("1.5") } }
  }
  if (code === "missing-content" && entry.role === "custom") return { pi: rules["odd-content"].pi }
  if (code !== "missing-command" && code !== "missing-summary") return {}
  const rule = rules[code].pi["0.78"]
  const reaction = (version: PiProfile) => (prompt[version].has(entry) ? COUNTS : rule)
  return { pi: { "0.78": reaction("0.78"), "1.5": reaction("1.5") } }
}

const stumble = (code: BlockCode, does: Stumble, isCounted: boolean): PiReaction => {
  if (does === "crashes") return rules[code === "null-block" ? code : "empty-block"].pi["0.78"]
  if (does === "counts" && isCounted) return COUNTS
  if (code === "broken-call" && does !== "reads") return rules[code].pi["0.78"]
  if (does === "missends") return NO_IMAGE
  return does === "counts" ? TOLD : { does: "reads", says: "leaves it out" }
}

const EDITABLE: ReadonlySet<Json | undefined> = new Set(["user", "assistant", "toolResult", "custom"])

/** The edits that 1.5 applies: the last one of each message that it sends. */
const appliedEdits = (branch: ReadonlyArray<SessionEntry>, items: Items): ReadonlySet<SessionEntry> => {
  const last = new Map<string, SessionEntry>()
  for (const entry of branch) {
    const targetId = entry.type === "context_edit" ? stringAt(entry.decode(), "targetId") : undefined
    if (targetId !== undefined) last.set(targetId, entry)
  }
  const applied = new Set<SessionEntry>()
  for (const { entry, message } of items) {
    const edit = entry.id === null || !EDITABLE.has(message["role"]) ? undefined : last.get(entry.id)
    if (edit !== undefined) applied.add(edit)
  }
  return applied
}

/** The entries that a Pi sends the model something of. */
const entriesOf = (items: Items): ReadonlySet<SessionEntry> => new Set(items.map(({ entry }) => entry))
