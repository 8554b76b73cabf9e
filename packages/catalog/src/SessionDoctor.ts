/**
 * Finds what is damaged in a session, and says what the real Pis do with it. Nothing is changed here: SessionRepair
 * makes a copy that is whole.
 *
 * The reader and the tree notice damaged lines and links; what is added here are the header, the tools and the messages,
 * as far as a real Pi was seen to stumble over them. A sound session has no findings, or notes.
 */
import { isObject, stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import type { SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { both } from "./FindingRule.ts"
import type { Code, Finding } from "./SessionFinding.ts"
import { asTree, formOf, headerWithoutId, isList, valueOf } from "./internal/SessionForm.ts"
import { contentFindings } from "./internal/contentFindings.ts"
import { findingAt, placeOf } from "./internal/findingAt.ts"
import { type HeaderFacts, headerFindings } from "./internal/headerFindings.ts"

/** Everything found, in file order. */
export const examine = (session: Session.Session, facts: HeaderFacts = {}): ReadonlyArray<Finding> => {
  const current = asPiSeesIt(session)
  const wasList = isList(session)
  const findings = [
    ...headerFindings(session, facts),
    ...diagnosticFindings(session, current),
    ...lineFindings(session),
    ...linkFindings(current),
    ...contentFindings(current)
  ]
  // Ids that a list gets when it is migrated stand in no file.
  // Of what holds neither header nor entry no session can be made.
  const isNothing = session.header === undefined && session.tree.getEntries().length === 0
  return findings
    .map((finding) => (isNothing ? { ...finding, mend: null } : finding))
    .map(({ entryId, ...finding }) => (wasList || entryId === undefined ? finding : { ...finding, entryId }))
    .sort((a, b) => a.byteOffset - b.byteOffset)
}

/** An old session as Pi migrates it; but a tree that lacks its version as the tree that it is. */
const asPiSeesIt = (session: Session.Session): Session.Session =>
  SessionMigration.toCurrent(formOf(session)?.isUnversionedTree === true ? asTree(session) : session)

/** Diagnostics that the header's findings tell better. */
const TOLD: ReadonlySet<Code> = new Set(["missing-header"])

const diagnosticFindings = (session: Session.Session, current: Session.Session): ReadonlyArray<Finding> => {
  const ofTree = new Set(session.tree.diagnostics)
  const ofReader = session.diagnostics.filter((diagnostic) => !ofTree.has(diagnostic) && !TOLD.has(diagnostic.code))
  const lines = new Map(session.lines.map((line) => [line.byteOffset, line]))
  const rescued = new Set(session.tree.getEntries().flatMap((entry) => (entry.recovered ? [entry.line] : [])))
  return [
    ...ofReader.flatMap((diagnostic): ReadonlyArray<Finding> => {
      const line = lines.get(diagnostic.byteOffset)
      if (diagnostic.code === "missing-id" && line !== undefined && headerWithoutId(line) !== undefined) {
        return session.header === undefined
          ? []
          : [findingAt("duplicate-header", diagnostic, "a second header, without an id")]
      }
      const isNull = diagnostic.code === "not-an-object" && line !== undefined && valueOf(line) === null
      return [
        findingAt(isNull ? "null-line" : diagnostic.code, diagnostic, diagnostic.message, here(diagnostic, rescued))
      ]
    }),
    ...treeFindings(current)
  ]
}

/** Where there are whole entries on a damaged line, Pi loses more than the damage. */
const here = ({ code, line }: SessionDiagnostic, rescued: ReadonlySet<number>): Partial<Pick<Finding, "pi" | "mend">> =>
  code === "malformed-line" && rescued.has(line)
    ? {
        pi: both("loses", "skips the whole line, with the entries on it that are whole"),
        mend: "each whole entry gets a line of its own, the rest is left out"
      }
    : {}

const treeFindings = ({ lines, tree }: Session.Session): ReadonlyArray<Finding> => {
  const typeless = typelessIds(lines)
  const entries = tree.getEntries()
  const at = new Map(entries.map((entry) => [entry.byteOffset, entry]))
  const seen = new Map<string, SessionEntry>()
  const repeats = new Set<SessionEntry>()
  for (const entry of entries) {
    if (entry.id === null) continue
    const earlier = seen.get(entry.id)
    if (earlier !== undefined && isSame(earlier, entry)) repeats.add(entry)
    else seen.set(entry.id, entry)
  }
  return tree.diagnostics.flatMap((diagnostic): ReadonlyArray<Finding> => {
    const entry = at.get(diagnostic.byteOffset)
    // Pi keeps objects without a type in the tree, and follows parents to them.
    if (diagnostic.code === "unknown-parent" && typeless.has(entry?.parentId ?? "")) return []
    if (diagnostic.code === "duplicate-id" && entry !== undefined && repeats.has(entry)) {
      const pi = both("reads", "reads it as one entry")
      const mend = "the repetition is left out"
      const message = `the line of entry ${JSON.stringify(entry.id)} stands twice`
      return [findingAt("duplicate-id", diagnostic, message, { severity: "warning", pi, mend })]
    }
    return [findingAt(diagnostic.code, diagnostic, diagnostic.message)]
  })
}

const isSame = (a: SessionEntry, b: SessionEntry): boolean => a.end - a.start === b.end - b.start && a.text === b.text

/** Ids of the objects that lack a type. */
const typelessIds = (lines: Session.Session["lines"]): ReadonlySet<string> => {
  const ids = new Set<string>()
  for (const line of lines) {
    // Entries and the header have ids of their own; most files hold nothing else.
    if ("decode" in line || line.end === line.start) continue
    const value = valueOf(line)
    const id = value !== undefined && isObject(value) ? stringAt(value, "id") : undefined
    if (id !== undefined) ids.add(id)
  }
  return ids
}

/** A last value without id and parent leaves Pi without a leaf. */
const lineFindings = (session: Session.Session): ReadonlyArray<Finding> => {
  const pi = Session.asPiReads(session)
  for (const line of pi.lines.toReversed()) {
    if ("decode" in line) return []
    const value = valueOf(line)
    if (value === undefined || value === null || headerWithoutId(line) !== undefined) continue
    if (session.tree.getEntries().length === 0) return []
    const known = isObject(value) && (stringAt(value, "id") ?? stringAt(value, "parentId")) !== undefined
    return known ? [] : [findingAt("no-leaf", placeOf(line), "the last value of the file is no entry")]
  }
  return []
}

const linkFindings = ({ tree }: Session.Session): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
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
    if (entry.type === "label" || entry.type === "context_edit") {
      const targetId = stringAt(entry.decode(), "targetId")
      if (targetId === undefined || tree.getEntry(targetId) === undefined) {
        const message = `a ${entry.type} for ${targetId === undefined ? "no entry" : `entry ${JSON.stringify(targetId)}, which is not there`}`
        findings.push(findingAt("unknown-target", placeOf(entry), message))
      }
    }
  }
  const [first] = untimed
  if (first !== undefined) {
    const more = untimed.length > 1 ? ` (and ${untimed.length - 1} more)` : ""
    findings.push(findingAt("missing-timestamp", placeOf(first), `an entry without a timestamp${more}`))
  }
  return findings
}
