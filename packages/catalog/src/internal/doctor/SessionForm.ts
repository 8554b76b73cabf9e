/** The form of a session: its header and version, and whether its entries are a list or a tree. */
import { type JsonObject, isObject, stringAt } from "@pi-sessions/core/Json"
import { valueOf } from "@pi-sessions/core/LineValue"
import * as Session from "@pi-sessions/core/Session"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"

/** The value of a line `{"type":"session"}` without an id; undefined for other lines. */
export const headerWithoutId = (line: SessionLine): JsonObject | undefined => {
  if (line instanceof SessionEntry || line instanceof HeaderLine) return undefined
  const value = valueOf(line)
  return value !== undefined && isObject(value) && value["type"] === "session" ? value : undefined
}

/** Whether a file contains no session: no header, and no entry with a type. */
export const isNoSession = ({ header, tree }: Session.Session): boolean =>
  header === undefined && tree.getEntries().every(({ type }) => type === "")

/** Whether an entry names another one as its parent, which no list of version 1 does. */
export const isTree = ({ tree }: Session.Session): boolean =>
  tree.getEntries().some(({ parentId }) => parentId !== null && tree.getEntry(parentId) !== undefined)

export interface SessionForm {
  readonly header: JsonObject
  readonly version: number
  /** The entries are a tree, but the version is below 2. */
  readonly isUnversionedTree: boolean
}

/** The form of a session; undefined without a header. */
export const formOf = (session: Session.Session): SessionForm | undefined => {
  if (session.header === undefined) return undefined
  const header = session.header.decode()
  const version = versionOf(header)
  return { header, version, isUnversionedTree: version < 2 && isTree(session) }
}

/** Whether the session is a list of version 1. */
export const isList = (session: Session.Session): boolean => {
  const form = formOf(session)
  return form !== undefined && form.version < 2 && !form.isUnversionedTree
}

/** The session with another header line. */
export const withHeader = (session: Session.Session, header: HeaderLine): Session.Session =>
  Session.withLines(
    session,
    session.lines.map((line) => (line === session.header ? header : line))
  )

/** The session with version 2 in its header, so that its tree is not read as a list. */
export const asTree = (session: Session.Session): Session.Session => {
  const { header } = session
  return header === undefined
    ? session
    : withHeader(session, HeaderLine.make({ ...header.decode(), version: 2 }, header))
}

/** The header's id. Default: "". */
export const sessionIdOf = (session: Session.Session): string => stringAt(session.header?.decode() ?? {}, "id") ?? ""
