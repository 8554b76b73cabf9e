/**
 * Makes a repaired copy of a session, which both Pis open with its whole history. The original is not changed.
 *
 * Sound lines keep their bytes and order. Entries on damaged lines get lines of their own; bytes that are not an entry
 * are dropped. `relink` restores ids and parents. A tool result without its call stays on a branch of its own, so that
 * no request contains it; if it is the last entry, a custom entry `pi-sessions.repaired` is added, where Pi continues.
 *
 * Repairing a repaired or sound session changes nothing.
 */
import * as EntryId from "@pi-sessions/core/EntryId"
import * as Session from "@pi-sessions/core/Session"
import { HeaderLine, SessionEntry, type SessionLine, isSameLine } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type Change, positionOf } from "./RepairChange.ts"
import { asTree, formOf, sessionIdOf, withHeader } from "./internal/doctor/SessionForm.ts"
import { mendedHeader } from "./internal/doctor/headerFindings.ts"
import { isRole } from "./internal/doctor/messageFacts.ts"
import { withRole } from "./internal/repair/mendedEntry.ts"
import { repairEntries } from "./internal/repair/repairEntries.ts"
import { repairLines } from "./internal/repair/repairLines.ts"

export interface Repaired {
  readonly session: Session.Session
  /** Empty if nothing was repaired; then `session` is the original object. */
  readonly changes: ReadonlyArray<Change>
}

/** Repairs a session. A file without header and entries is returned unchanged. */
export const repair = (session: Session.Session): Repaired => {
  const changes: Array<Change> = []
  // First, because version 1 counts lines, and later steps drop some.
  const migrated = migrate(withSoundHeader(session, changes), changes)
  const whole = repairLines(migrated, changes)
  if (whole === undefined) return { session, changes: [] }
  const current = SessionMigration.toCurrent(whole)
  const lines = withRoles(withoutRepeats(current.lines, changes), changes)
  const repaired = Session.fromLines(repairEntries(lines, sessionIdOf(current), changes))
  changes.sort((a, b) => a.byteOffset - b.byteOffset)
  // Migration alone is not a repair: Pi does it itself.
  return changes.length === 0 ? { session, changes } : { session: repaired, changes }
}

/** A repaired session with an id of its own. */
export interface Copy {
  readonly id: string
  readonly session: Session.Session
}

/**
 * Gives a repaired session an id of its own, derived from the original's id and the copy's file name, and names the
 * original in `parentSession`, as a fork does.
 */
export const asCopy = (repaired: Session.Session, original: string, name: string): Copy => {
  const { header, lines } = repaired
  const id = EntryId.deriveSessionId("doctor", sessionIdOf(repaired), name)
  if (header === undefined) return { id, session: repaired }
  const own = HeaderLine.make({ ...header.decode(), id, parentSession: original }, header)
  return { id, session: Session.fromLines(lines.map((line) => (line === header ? own : line))) }
}

const withSoundHeader = (session: Session.Session, changes: Array<Change>): Session.Session => {
  const { header } = session
  if (header === undefined) return session
  const given = header.decode()
  const mended = mendedHeader(given)
  if (mended === given) return session
  changes.push({ ...positionOf(header), what: "the header's version or directory is mended" })
  return withHeader(session, HeaderLine.make(mended, header))
}

const migrate = (session: Session.Session, changes: Array<Change>): Session.Session => {
  const { header, lines } = session
  const isUnversionedTree = formOf(session)?.isUnversionedTree === true
  if (isUnversionedTree && header !== undefined)
    changes.push({ ...positionOf(header), what: "the header says version 3" })
  const migrated = SessionMigration.toCurrent(isUnversionedTree ? asTree(session) : session)
  if (migrated === session) return session
  // A rewritten entry has a line of its own.
  for (const [index, line] of lines.entries()) {
    if (line instanceof HeaderLine || migrated.lines[index] === line) continue
    if (line instanceof SessionEntry && line.recovered)
      changes.push({ ...positionOf(line), what: "the entry gets a line of its own" })
    else if (!line.terminated) changes.push({ ...positionOf(line), what: "a newline at its end" })
  }
  return migrated
}

/** Drops lines that repeat an earlier one. */
const withoutRepeats = (lines: ReadonlyArray<SessionLine>, changes: Array<Change>): ReadonlyArray<SessionLine> => {
  const texts = new Map<string, SessionEntry>()
  return lines.filter((line) => {
    if (!(line instanceof SessionEntry) || line.id === null) return true
    const earlier = texts.get(line.id)
    if (earlier === undefined) texts.set(line.id, line)
    else if (isSameLine(earlier, line)) {
      changes.push({ ...positionOf(line), what: "the line stands twice; the repetition is left out" })
      return false
    }
    return true
  })
}

/** Gives messages without a known role one. Runs first, because calls and results are recognized by role. */
const withRoles = (lines: ReadonlyArray<SessionLine>, changes: Array<Change>): ReadonlyArray<SessionLine> =>
  lines.map((line) => {
    if (!(line instanceof SessionEntry) || line.type !== "message" || isRole(line.role)) return line
    const payload = line.decode()
    const given = payload["message"]
    const message = given === undefined || given === null ? undefined : withRole(given)
    if (message === undefined) return line
    changes.push({ ...positionOf(line), what: `the message gets the role ${JSON.stringify(message["role"])}` })
    return line.rewrite({ ...payload, message })
  })
