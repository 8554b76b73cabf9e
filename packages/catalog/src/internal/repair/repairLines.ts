/** The first step of a repair: a header, and each entry on a line of its own. Drops everything else. */
import { type JsonObject } from "@pi-sessions/core/Json"
import * as EntryId from "@pi-sessions/core/EntryId"
import { isBlank, valueOf } from "@pi-sessions/core/LineValue"
import * as Session from "@pi-sessions/core/Session"
import { CURRENT_VERSION, versionOf } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import type { Change } from "../../RepairChange.ts"
import { headerWithoutId, isNoSession, isTree } from "../doctor/SessionForm.ts"
import { asCustom } from "./mendedEntry.ts"

/** Repairs the lines; undefined if the file contains no session. */
export const repairLines = (session: Session.Session, changes: Array<Change>): Session.Session | undefined => {
  if (isNoSession(session)) return undefined
  const lines: Array<SessionLine> = []
  for (const line of session.lines) {
    const kept = line === session.header ? undefined : keep(line, session, changes)
    if (kept !== undefined) lines.push(kept)
  }
  const header = headerFor(session, changes)
  const before = session.lines[0]
  if (session.header !== undefined && before !== undefined && before !== session.header && !isBlank(before)) {
    const { line, byteOffset } = session.header
    const isFirst = lines[0] === undefined || lines[0].byteOffset > byteOffset
    if (!isFirst) changes.push({ line, byteOffset, what: "the header becomes the first line" })
  }
  return Session.fromLines([header, ...lines])
}

/** The repaired line; undefined to drop it. */
const keep = (line: SessionLine, session: Session.Session, changes: Array<Change>): SessionLine | undefined => {
  const { line: number, byteOffset } = line
  const change = (what: string): void => void changes.push({ line: number, byteOffset, what })
  if (line instanceof SessionEntry && line.type === "") {
    if (line.id === null) {
      change("a line that is no entry is left out")
      return undefined
    }
    change("an object without a type becomes a custom entry")
    return SessionEntry.make({ ...asCustom(line.decode()), type: "custom" }, line)
  }
  if (line instanceof SessionEntry) {
    if (line.recovered) change("the entry gets a line of its own")
    else if (!line.terminated) change("a newline at its end")
    return line.standalone()
  }
  if (Session.isByteOrderMark(line)) {
    change("the byte order mark is left out")
    return undefined
  }
  if (isBlank(line)) {
    // Without a newline the next entry would be appended to it.
    if (line.terminated) return line
    if (line.end > line.start) change("blank characters at the end are left out")
    return undefined
  }
  // `headerFor` makes the header from it.
  if (session.header === undefined && headerWithoutId(line) !== undefined) return undefined
  const value = valueOf(line)
  change(
    value === undefined ? `${line.end - line.start} damaged bytes are left out` : "a line that is no entry is left out"
  )
  return undefined
}

const headerFor = (session: Session.Session, changes: Array<Change>): HeaderLine => {
  const { header } = session
  if (header !== undefined) {
    const isAlone =
      header.terminated &&
      !session.lines.some((line) => line !== header && line.line === header.line && !Session.isByteOrderMark(line))
    if (isAlone) return header
    const { source, start, end, line, byteOffset } = header
    changes.push({ line, byteOffset, what: "the header gets a line of its own" })
    return new HeaderLine(source, start, end, line, byteOffset, true)
  }
  const entries = session.tree.getEntries()
  const found = session.lines.find((line) => headerWithoutId(line) !== undefined)
  const id = EntryId.deriveSessionId("doctor", ...entries.map((entry) => entry.bytes))
  const isList = !isTree(session) && entries.every((entry) => entry.id === null)
  if (found !== undefined) {
    const said = headerWithoutId(found) ?? {}
    const version = isList || versionOf(said) >= 2 ? said["version"] : CURRENT_VERSION
    changes.push({ line: found.line, byteOffset: found.byteOffset, what: "the header gets an id" })
    return HeaderLine.make({ ...said, type: "session", version, id }, found)
  }
  const made: JsonObject = {
    type: "session",
    version: isList ? 1 : CURRENT_VERSION,
    id,
    timestamp: entries[0]?.timestamp
  }
  changes.push({ line: 1, byteOffset: 0, what: "a header is made" })
  return HeaderLine.make(made)
}
