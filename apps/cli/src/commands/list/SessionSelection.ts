/** The filters and orders of `list`. */
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { isWithin } from "@pi-sessions/catalog/WorkingDirectory"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type ColumnName, type SortName } from "./ColumnName.ts"
import { type ListedSession } from "./ListedSession.ts"

export interface Criteria {
  /** Spellings of one directory: as given and absolute. */
  readonly cwd: ReadonlyArray<string>
  readonly rigs: ReadonlyArray<string>
  readonly roles: ReadonlyArray<string>
  readonly sinceMs: number | undefined
  readonly untilMs: number | undefined
  readonly name: string | undefined
}

/** Whether the header and the file of a session match. */
export const byHeader = (session: CatalogSession, { cwd, sinceMs, untilMs }: Criteria): boolean =>
  (cwd.length === 0 || cwd.some((directory) => isWithin(session.cwd, directory))) &&
  (sinceMs === undefined || session.modifiedMs >= sinceMs) &&
  (untilMs === undefined || session.modifiedMs <= untilMs)

export const needsRole = ({ rigs, roles }: Criteria, columns: ReadonlyArray<ColumnName>): boolean =>
  rigs.length > 0 || roles.length > 0 || columns.includes("rig") || columns.includes("role")

export const byRole = ({ role }: ListedSession, { rigs, roles }: Criteria): boolean =>
  role === undefined
    ? rigs.length === 0 && roles.length === 0
    : (rigs.length === 0 || rigs.some((rig) => GasTown.matchesRig(role, rig))) &&
      (roles.length === 0 || roles.includes(role.role))

export const byName = ({ name }: ListedSession, { name: wanted }: Criteria): boolean =>
  wanted === undefined || folded(name ?? "").includes(folded(wanted))

/** Text without differences of case and of composed and decomposed letters. */
const folded = (text: string): string => text.normalize("NFC").toLocaleLowerCase()

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const ORDERS: { readonly [S in SortName]: (a: ListedSession, b: ListedSession) => number } = {
  modified: (a, b) => b.session.modifiedMs - a.session.modifiedMs,
  // Pi writes timestamps that sort as texts.
  started: (a, b) => compareText(b.session.timestamp, a.session.timestamp),
  size: (a, b) => b.session.sizeBytes - a.session.sizeBytes,
  messages: (a, b) => (b.messages ?? -1) - (a.messages ?? -1),
  name: (a, b) =>
    Number((a.name ?? "") === "") - Number((b.name ?? "") === "") || (a.name ?? "").localeCompare(b.name ?? ""),
  id: (a, b) => compareText(a.session.id, b.session.id),
  cwd: (a, b) => compareText(a.session.cwd, b.session.cwd)
}

/** Sessions in order; equal ones by path. */
export const sorted = (
  sessions: ReadonlyArray<ListedSession>,
  by: SortName,
  reverse: boolean
): ReadonlyArray<ListedSession> => {
  const order = ORDERS[by]
  return sessions.toSorted(
    (a, b) => (reverse ? -order(a, b) : order(a, b)) || compareText(a.session.path, b.session.path)
  )
}
