/** A session of `list`: the facts of the catalog, and facts that were read on request. */
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type RoleDetection } from "@pi-sessions/core/GasTown"

export interface ListedSession {
  readonly session: CatalogSession
  /** Undefined unless it is in the index or was read. */
  readonly messages: number | undefined
  /** "" for a session without a name; undefined as above. */
  readonly name: string | undefined
  readonly role: RoleDetection | undefined
}

/** The facts that are known without reading the session. */
export const of = (session: CatalogSession): ListedSession => ({
  session,
  messages: session.indexed?.messageCount,
  name: session.indexed === undefined ? undefined : (session.indexed.name ?? ""),
  role: undefined
})

/** The JSON of a session. Unknown facts are left out. */
export const toJson = ({ messages, name, role, session }: ListedSession) => ({
  path: session.path,
  format: session.format,
  id: session.id,
  cwd: session.cwd,
  timestamp: session.timestamp,
  modified: new Date(session.modifiedMs).toISOString(),
  sizeBytes: session.sizeBytes,
  ...(session.version === undefined ? {} : { version: session.version }),
  ...(session.parentSession === undefined ? {} : { parentSession: session.parentSession }),
  ...(messages === undefined ? {} : { messageCount: messages }),
  ...(name === undefined || name === "" ? {} : { name }),
  ...(role === undefined ? {} : { role: role.role }),
  ...(role?.rig === undefined ? {} : { rig: role.rig }),
  ...(role?.address === undefined ? {} : { address: role.address })
})
