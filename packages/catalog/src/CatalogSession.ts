/** A session in the catalog: its path and its header's columns. `StoreSource` reads it. */
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { type SessionSummary } from "./SessionIndex.ts"

/** Where a session is stored: Pi's own file, a container of Session Store V2, or a database of lines. */
export type SessionFormat = "jsonl" | "native_v2" | "sqlite_v1"

/** Columns of a header, unchanged. Default of a text: "". */
export interface HeaderColumns {
  readonly id: string
  readonly cwd: string
  readonly timestamp: string
  /** Default: 1. */
  readonly version?: number | undefined
  /** The file that the session was forked from. */
  readonly parentSession?: string
}

/**
 * Path, size and time of a session, and its header's columns. `version` and `parentSession` are absent if the columns
 * come from the index, which does not have them.
 */
export interface CatalogSession extends SessionRef, HeaderColumns {
  readonly format: SessionFormat
  /** The present path of the session that `parentSession` names, if it is another one. */
  readonly parentPath?: string
  /** Its row of the session index, if that is current. */
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
