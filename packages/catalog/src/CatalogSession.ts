/** A session that the catalog found: where it lies and what its header says. The store's `SessionSource` reads it. */
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { type SessionSummary } from "./SessionIndex.ts"

/** What holds a session: Pi's own file, a container of Session Store V2, or a database of lines. */
export type SessionFormat = "jsonl" | "native_v2" | "sqlite_v1"

/** Columns of a header, as they stand there; "" where it has none. */
export interface HeaderColumns {
  readonly id: string
  readonly cwd: string
  readonly timestamp: string
  /** 1 where the header says none. */
  readonly version?: number | undefined
  /** The file that the session was forked from. */
  readonly parentSession?: string
}

/**
 * Path, size and time of a session, and its header's columns. `version` and `parentSession` are absent where the columns
 * come from the index, whose table does not have them.
 */
export interface CatalogSession extends SessionRef, HeaderColumns {
  readonly format: SessionFormat
  /** Where the session that `parentSession` names was found, where that is under another path. */
  readonly parentPath?: string
  /** What the session index says of it, where its row is current. */
  readonly indexed?: SessionSummary | undefined
}

/** The columns of a decoded header. */
export const columnsOf = (header: JsonObject): HeaderColumns => {
  const parentSession = stringAt(header, "parentSession")
  return {
    id: stringAt(header, "id") ?? "",
    cwd: stringAt(header, "cwd") ?? "",
    timestamp: stringAt(header, "timestamp") ?? "",
    version: versionOf(header),
    ...(parentSession === undefined ? {} : { parentSession })
  }
}
