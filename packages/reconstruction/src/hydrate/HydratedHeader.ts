/** Makes the header of a semantically hydrated session. */
import * as EntryId from "@pi-sessions/core/EntryId"
import { type JsonObject } from "@pi-sessions/core/Json"
import { CURRENT_VERSION, ID_PATTERN } from "@pi-sessions/core/SessionHeader"
import { sha256 } from "../internal/sha256.ts"

export interface Options {
  readonly threadId: string
  /** Default: derived from the thread's id, also when this one breaks Pi's rule for ids. */
  readonly sessionId?: string | undefined
  /** ISO 8601. */
  readonly timestamp: string
  readonly cwd: string
}

/** Pi 0.78 looks for the header in the first 512 bytes of a file. */
const HEADER_BYTES = 512

/** Fields in Pi's order, then `hydratedFrom`, with a hash of the thread's id when the line gets too long. */
export const make = ({ threadId, sessionId, timestamp, cwd }: Options): JsonObject => {
  const id =
    sessionId !== undefined && ID_PATTERN.test(sessionId) ? sessionId : EntryId.deriveSessionId("hydrate", threadId)
  const header = { type: "session", version: CURRENT_VERSION, id, timestamp, cwd }
  const full = { ...header, hydratedFrom: { threadId, mode: "semantic" } }
  const hash = `sha256:${sha256(threadId)}`
  const fits = Buffer.byteLength(JSON.stringify(full)) < HEADER_BYTES || hash.length >= threadId.length
  return fits ? full : { ...header, hydratedFrom: { threadId: hash, mode: "semantic" } }
}
