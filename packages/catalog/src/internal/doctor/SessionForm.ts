/** What form a session has: the header that Pi would find, and whether its entries are a list or a tree. */
import { type JsonObject, isObject, stringAt } from "@pi-sessions/core/Json"
import { valueOf } from "@pi-sessions/core/LineValue"
import * as Session from "@pi-sessions/core/Session"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"

export const isByteOrderMark = (line: SessionLine): boolean =>
  line.byteOffset === 0 && line.end - line.start === 3 && line.text === "\ufeff"

/** A line `{"type":"session"}` that lacks an id. */
export const headerWithoutId = (line: SessionLine): JsonObject | undefined => {
  if (line instanceof SessionEntry || line instanceof HeaderLine) return undefined
  const value = valueOf(line)
  return value !== undefined && isObject(value) && value["type"] === "session" ? value : undefined
}

/** Whether no session can be made of a file: no header, and no entry that says what it is. */
export const isNothing = ({ header, tree }: Session.Session): boolean =>
  header === undefined && tree.getEntries().every(({ type }) => type === "")

/** Whether some entry names another one as its parent: no list of version 1 does. */
export const isTree = ({ tree }: Session.Session): boolean =>
  tree.getEntries().some(({ parentId }) => parentId !== null && tree.getEntry(parentId) !== undefined)

export interface SessionForm {
  readonly header: JsonObject
  readonly version: number
  /** The header says less than version 2, and the entries are a tree. */
  readonly isUnversionedTree: boolean
}

/** Undefined without a header. */
export const formOf = (session: Session.Session): SessionForm | undefined => {
  if (session.header === undefined) return undefined
  const header = session.header.decode()
  const version = versionOf(header)
  return { header, version, isUnversionedTree: version < 2 && isTree(session) }
}

/** Whether Pi takes the session for a list, and it is one. */
export const isList = (session: Session.Session): boolean => {
  const form = formOf(session)
  return form !== undefined && form.version < 2 && !form.isUnversionedTree
}

/** Under a header that says at least version 2, so that nobody takes its tree for a list. */
export const asTree = (session: Session.Session): Session.Session => {
  const { header } = session
  if (header === undefined) return session
  const said = HeaderLine.make({ ...header.decode(), version: 2 }, header)
  return Session.withLines(
    session,
    session.lines.map((line) => (line === header ? said : line))
  )
}

/** The header's id; empty where there is none. */
export const sessionIdOf = (session: Session.Session): string => stringAt(session.header?.decode() ?? {}, "id") ?? ""
