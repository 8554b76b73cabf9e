/**
 * Finds damage in a session and says what each Pi does with it. Changes nothing; SessionRepair makes a repaired copy.
 *
 * Findings come from the diagnostics of the reader and the tree, and from checks of the header, links, tool calls and
 * messages. A sound session has no findings, or notes only.
 */
import * as EntryId from "@pi-sessions/core/EntryId"
import * as EntryType from "@pi-sessions/core/EntryType"
import { valueOf } from "@pi-sessions/core/LineValue"
import * as Session from "@pi-sessions/core/Session"
import type { SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { SessionEntry, type SessionLine, ValueLine, isSameLine } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { LEAFLESS, both, each } from "./FindingRule.ts"
import type { Code, Finding } from "./SessionFinding.ts"
import { FindingList } from "./internal/doctor/FindingList.ts"
import { asTree, formOf, headerWithoutId, isList, isNoSession } from "./internal/doctor/SessionForm.ts"
import { contentFindings } from "./internal/doctor/contentFindings.ts"
import { findingAt, placeOf } from "./internal/doctor/findingAt.ts"
import { type HeaderFacts, headerFindings } from "./internal/doctor/headerFindings.ts"

/** All findings in file order; at most 1,000 of each kind (see `Finding.more`). */
export const examine = (session: Session.Session, facts: HeaderFacts = {}): ReadonlyArray<Finding> => {
  const current = asPiSeesIt(session)
  const wasList = isList(session)
  const findings = new FindingList()
  for (const finding of headerFindings(session, facts)) findings.push(finding)
  diagnosticFindings(session, findings)
  treeFindings(current, findings)
  for (const finding of lineFindings(session)) findings.push(finding)
  linkFindings(current, findings)
  contentFindings(current, findings)
  // A migrated list has derived ids, which are not in the file.
  const isUnrepairable = isNoSession(session)
  return findings
    .inFileOrder()
    .map((finding) => (isUnrepairable ? { ...finding, mend: null } : finding))
    .map(({ entryId, ...finding }) => (wasList || entryId === undefined ? finding : { ...finding, entryId }))
}

/** The session as Pi migrates it, except that a tree without its version remains a tree. */
const asPiSeesIt = (session: Session.Session): Session.Session =>
  SessionMigration.toCurrent(formOf(session)?.isUnversionedTree === true ? asTree(session) : session)

/** Diagnostics that `headerFindings` reports in more detail. */
const REPORTED: ReadonlySet<Code> = new Set(["missing-header"])

const diagnosticFindings = (session: Session.Session, findings: FindingList): void => {
  const ofTree = new Set(session.tree.diagnostics)
  const rescued = new Set(session.tree.getEntries().flatMap((entry) => (entry.recovered ? [entry.line] : [])))
  for (const diagnostic of session.diagnostics) {
    const { code, message } = diagnostic
    if (ofTree.has(diagnostic) || REPORTED.has(code)) continue
    const line = code === "missing-id" || code === "not-an-object" ? lineAt(session, diagnostic.byteOffset) : undefined
    if (code === "missing-id" && line !== undefined && headerWithoutId(line) !== undefined) {
      if (session.header !== undefined)
        findings.push(findingAt("duplicate-header", diagnostic, "a second header, without an id"))
      continue
    }
    const isNull = code === "not-an-object" && line !== undefined && valueOf(line) === null
    findings.push(findingAt(isNull ? "null-line" : code, diagnostic, message, rescuedEntries(diagnostic, rescued)))
  }
}

/** The line that begins at a byte, by binary search. */
const lineAt = ({ lines }: Session.Session, byteOffset: number): SessionLine | undefined => {
  let low = 0
  for (let high = lines.length; low < high;) {
    const middle = Math.floor((low + high) / 2)
    if (lines[middle]!.byteOffset < byteOffset) low = middle + 1
    else high = middle
  }
  return lines[low]?.byteOffset === byteOffset ? lines[low] : undefined
}

/** If a damaged line also contains whole entries, Pi loses those too. */
const rescuedEntries = (
  { code, line }: SessionDiagnostic,
  rescued: ReadonlySet<number>
): Partial<Pick<Finding, "pi" | "mend">> =>
  code === "malformed-line" && rescued.has(line)
    ? {
        pi: both("loses", "skips the whole line, with the entries on it that are whole"),
        mend: "each whole entry gets a line of its own, the rest is left out"
      }
    : {}

const treeFindings = ({ tree }: Session.Session, findings: FindingList): void => {
  if (tree.diagnostics.length === 0) return
  const at = new Map<number, SessionEntry>()
  const seen = new Map<string, SessionEntry>()
  const repeats = new Set<SessionEntry>()
  for (const entry of tree.getEntries()) {
    at.set(entry.byteOffset, entry)
    if (entry.id === null) continue
    const earlier = seen.get(entry.id)
    if (earlier !== undefined && isSameLine(earlier, entry)) repeats.add(entry)
    else seen.set(entry.id, entry)
  }
  for (const diagnostic of tree.diagnostics) {
    const entry = at.get(diagnostic.byteOffset)
    if (diagnostic.code === "duplicate-id" && entry !== undefined && repeats.has(entry)) {
      const pi = both("reads", "reads it as one entry")
      const mend = "the repetition is left out"
      const message = `the line of entry ${JSON.stringify(entry.id)} stands twice`
      findings.push(findingAt("duplicate-id", diagnostic, message, { severity: "warning", pi, mend }))
    } else findings.push(findingAt(diagnostic.code, diagnostic, diagnostic.message))
  }
}

/** Finds a last value without id and parent, which leaves Pi without a leaf. */
const lineFindings = (session: Session.Session): ReadonlyArray<Finding> => {
  const { lines, tree } = Session.asPiReads(session)
  const last = lines.findLast((line) => line instanceof SessionEntry || isValue(line))
  if (last === undefined || tree.getEntries().every((entry) => entry === last)) return []
  const message = "the last value of the file is no entry"
  if (last instanceof SessionEntry) {
    const isLost = last.nullId || (last.type === "" && last.id === null && last.parentId === null)
    return isLost ? [findingAt("no-leaf", placeOf(last), message)] : []
  }
  // 1.5 skips falsy values.
  const pi = tree.getBranch().length === 0 ? undefined : each(["loses", LEAFLESS], ["reads", "skips it"])
  return [findingAt("no-leaf", placeOf(last), message, pi === undefined ? {} : { pi })]
}

const isValue = (line: SessionLine): boolean => line instanceof ValueLine && line.leafless.length > 0

const linkFindings = ({ tree }: Session.Session, findings: FindingList): void => {
  const seen = new Set<string>()
  const cut = new Set(tree.diagnostics.filter(({ code }) => code === "cycle").map(({ byteOffset }) => byteOffset))
  const untimed: Array<SessionEntry> = []
  for (const entry of tree.getEntries()) {
    const { parentId, id } = entry
    if (id === "") findings.push(findingAt("empty-id", placeOf(entry), "an id of no characters"))
    if (parentId !== null && parentId !== "" && !seen.has(parentId) && tree.getEntry(parentId) !== undefined) {
      const message = `its parent ${JSON.stringify(parentId)} stands after it`
      if (!cut.has(entry.byteOffset) && parentId !== id)
        findings.push(findingAt("parent-later", placeOf(entry), message))
    }
    if (id !== null) seen.add(id)
    if (entry.timestamp === undefined) untimed.push(entry)
    if (EntryType.of(entry.type).reference === "targetId") {
      const targetId = EntryId.read(entry.decode()["targetId"])
      if (targetId === null || tree.getEntry(targetId) === undefined) {
        const message = `a ${entry.type} for ${targetId === null ? "no entry" : `entry ${JSON.stringify(targetId)}, which is not there`}`
        findings.push(findingAt("unknown-target", placeOf(entry), message))
      }
    }
  }
  const [first] = untimed
  if (first !== undefined) {
    const more = untimed.length > 1 ? ` (and ${untimed.length - 1} more)` : ""
    findings.push(findingAt("missing-timestamp", placeOf(first), `an entry without a timestamp${more}`))
  }
}
