/** What is to be said of messages and tools. What stands outside of the context waits until someone goes back there. */
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { both, rules } from "../FindingRule.ts"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import type { Code, Finding } from "../SessionFinding.ts"
import { Forest, parentsOf } from "./Forest.ts"
import { match } from "./ToolLinks.ts"
import { compactionFault } from "./compactionFault.ts"
import { findingAt, placeOf } from "./findingAt.ts"
import { type Fault, type MessageFacts, look } from "./messageFacts.ts"

const SAYS: { readonly [fault in Fault]: string } = {
  "missing-message": "an entry of type message without a message",
  "missing-role": "a message without a role",
  "missing-content": "a message without content",
  "text-content": "the content is text where blocks belong",
  "missing-usage": "an assistant's message without its usage"
}

const DORMANT = both("reads", "does not come across it, unless someone goes back to its branch")
const OLDER = { does: "reads", says: "asks only the last answer for its tokens" } as const
const UNSENT = both("reads", "does not send the turn, which failed, and does not ask for its tokens")

export const contentFindings = ({ tree }: Session.Session): ReadonlyArray<Finding> => {
  const entries = tree.getEntries()
  const facts = entries.map(look)
  const forest = new Forest(parentsOf(tree))
  const links = match(facts, forest)
  const branch = tree.getBranch()
  const onBranch = new Set(branch)
  // 1.5 leaves out what a context edit took away.
  const sent = { "0.78": sentOf(branch, "0.78"), "1.5": sentOf(branch, "1.5") }
  const lastAnswer = branch.findLast((entry) => entry.role === "assistant" && sent["0.78"].has(entry))
  const firstAnswer = entries.find(({ role }) => role === "assistant")
  const indexes = new Map(entries.flatMap(({ id }, index) => (id === null ? [] : [[id, index] as const])))
  const lookup = { entries, indexOf: (id: string) => indexes.get(id) }
  const findings: Array<Finding> = []

  /** Where neither Pi comes across it as things are, it is worth a warning. */
  const add = (
    code: Code,
    entry: SessionEntry,
    message: string,
    here: Partial<Pick<Finding, "pi" | "mend">> = {}
  ): void => {
    const rule = { ...rules[code], ...here }
    const reaction = (version: PiProfile) => (sent[version].has(entry) ? rule.pi[version] : DORMANT[version])
    const pi = { "0.78": reaction("0.78"), "1.5": reaction("1.5") }
    const isDormant = !sent["0.78"].has(entry) && !sent["1.5"].has(entry)
    const severity = isDormant && rule.severity === "error" ? (rule.mend === null ? "note" : "warning") : rule.severity
    findings.push(findingAt(code, placeOf(entry), message, { severity, pi, mend: rule.mend }))
  }

  for (const [index, entry] of entries.entries()) {
    const fact = facts[index]
    for (const fault of fact?.faults ?? []) {
      if (fault === "missing-usage")
        add(fault, entry, SAYS[fault], usagePi(fact?.failed === true, entry === lastAnswer))
      else if (fault === "missing-message") {
        const early = firstAnswer === undefined || entry.byteOffset < firstAnswer.byteOffset
        findings.push(findingAt(fault, placeOf(entry), SAYS[fault], onBranch.has(entry) ? {} : offBranch(early)))
      } else add(fault, entry, SAYS[fault])
    }
    const orphan = links.orphans.get(index)
    // One that nothing hangs on is where a repair would put it.
    const stays = !onBranch.has(entry) && !forest.hasChildren(index)
    if (orphan !== undefined) add(orphan, entry, orphanSays(fact, orphan), stays ? { mend: null } : {})
    const open = links.unanswered.get(index)
    if (open !== undefined) add("unanswered-call", entry, `no result for ${names(open)}`)
    if (entry.type === "compaction") {
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

/** The entries that a Pi sends the model something of. */
const sentOf = (branch: ReadonlyArray<SessionEntry>, version: PiProfile): ReadonlySet<SessionEntry> =>
  new Set(SessionContext.project(branch, version).map(({ entry }) => entry))
