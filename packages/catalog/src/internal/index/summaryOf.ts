/** Reads a session to make its row of the session index. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { stringAt } from "@pi-sessions/core/Json"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type CatalogSession } from "../../CatalogSession.ts"
import { type SessionSummary } from "../../SessionIndex.ts"

/** Counts what Pi sees: entries on damaged lines do not count. */
class Tally {
  messages = 0
  name: string | undefined

  push(line: SessionLine): void {
    if (!(line instanceof SessionEntry) || line.recovered) return
    if (line.type === "message") this.messages++
    // The last name counts; an empty one removes the name.
    else if (line.type === "session_info") this.name = stringAt(line.decode(), "name")?.trim()
  }
}

export const summaryOf = Effect.fnUntraced(function* (
  source: SessionSource["Service"],
  session: CatalogSession
): Effect.fn.Return<SessionSummary, SessionFileError> {
  const tally = new Tally()
  yield* Stream.runForEachArray(source.lines(session), (lines) =>
    Effect.sync(() => {
      for (const line of lines) tally.push(line)
    })
  )
  const { messages, name } = tally
  return {
    path: session.path,
    id: session.id,
    cwd: session.cwd,
    timestamp: session.timestamp,
    messageCount: messages,
    lastModifiedMs: Math.floor(session.modifiedMs),
    sizeBytes: session.sizeBytes,
    ...(name === undefined || name === "" ? {} : { name })
  }
})
