/** A session as `list` shows it: what the catalog says, and what was read besides because it was asked for. */
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type RoleDetection } from "@pi-sessions/core/GasTown"

export interface ListedSession {
  readonly session: CatalogSession
  /** Unknown unless the index says it, or it was asked for. */
  readonly messages: number | undefined
  /** "" for a session without one; unknown as above. */
  readonly name: string | undefined
  readonly role: RoleDetection | undefined
}

/** What costs no look into the session. */
export const of = (session: CatalogSession): ListedSession => ({
  session,
  messages: session.indexed?.messageCount,
  name: session.indexed === undefined ? undefined : (session.indexed.name ?? ""),
  role: undefined
})

/** For programs: unknown fields are absent. */
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
