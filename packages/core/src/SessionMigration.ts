/**
 * Migrates a session of version 1 or 2 to version 3, as Pi does when it opens one (0.78.0 to 1.5.2 agree), but with derived
 * ids where Pi's are random: the same file gives the same tree.
 *
 * Entries of version 1 are a list: each gets a new id and the entry before it as its parent, and a compaction's
 * `firstKeptEntryIndex` becomes a `firstKeptEntryId`. Version 2 has the role `hookMessage` for `custom`. Lines that do not
 * change keep their bytes.
 */
import * as EntryId from "./EntryId.ts"
import { type JsonObject, numberAt, objectAt } from "./Json.ts"
import { valueOf } from "./LineValue.ts"
import * as Session from "./Session.ts"
import { CURRENT_VERSION, versionOf } from "./SessionHeader.ts"
import { HeaderLine, SessionEntry, type SessionLine } from "./SessionLine.ts"

/** The session in the current version; the same object when nothing changes or there is no header. */
export const toCurrent = (session: Session.Session): Session.Session => {
  if (session.header === undefined) return session
  const version = versionOf(session.header.decode())
  if (version >= CURRENT_VERSION) return session
  const sessionId = String(session.header.decode()["id"])

  const ids = new Set<string>()
  let previousId: string | null = null
  /** Ids by Pi's index of the lines that it can read: the header has index 0. */
  const idByIndex: Array<string | undefined> = []
  const lines: Array<SessionLine> = []
  for (const line of session.lines) {
    if (line === session.header && line instanceof HeaderLine) {
      lines.push(HeaderLine.make({ ...line.decode(), version: CURRENT_VERSION }, line))
      idByIndex.push(undefined)
    } else if (line instanceof SessionEntry) {
      let payload = line.decode()
      const before = payload
      if (version < 2) {
        const id = EntryId.derive(ids, sessionId, String(ids.size), line.bytes)
        ids.add(id)
        payload = { ...payload, id, parentId: previousId }
        previousId = id
        if (!line.recovered) idByIndex.push(id)
        if (payload["type"] === "compaction") payload = keptById(payload, idByIndex)
      }
      const message = objectAt(payload, "message")
      if (payload["type"] === "message" && message?.["role"] === "hookMessage") {
        payload = { ...payload, message: { ...message, role: "custom" } }
      }
      lines.push(payload === before ? line : line.rewrite(payload))
    } else {
      lines.push(line)
      if (isCounted(line)) idByIndex.push(undefined)
    }
  }
  return Session.withLines(session, lines)
}

/** Whether Pi counts a line that is not an entry here: another header, or an array. */
const isCounted = (line: SessionLine): boolean => {
  const value = valueOf(line)
  return typeof value === "object" && value !== null
}

const keptById = (payload: JsonObject, idByIndex: ReadonlyArray<string | undefined>): JsonObject => {
  const index = numberAt(payload, "firstKeptEntryIndex")
  if (index === undefined) return payload
  const { firstKeptEntryIndex: _, ...rest } = payload
  const id = idByIndex[index]
  return id === undefined ? rest : { ...rest, firstKeptEntryId: id }
}
