/** The rows of the list, and what reading a session adds to them. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import { stringAt } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type SessionRow, type SessionSummary } from "../ViewModel.ts"
import { ScopeBuilder } from "./ScopeBuilder.ts"

export const sessionRow = (key: string, session: CatalogSession, text: (text: string) => string): SessionRow => {
  const { cwd, format, id, indexed, modifiedMs, path, sizeBytes, timestamp } = session
  return {
    key,
    id,
    cwd: text(cwd),
    path: text(path),
    startedAt: text(timestamp),
    modifiedMs,
    sizeBytes,
    format,
    ...(indexed?.name === undefined ? {} : { name: text(indexed.name) }),
    ...(indexed === undefined ? {} : { messages: indexed.messageCount })
  }
}

/** Columns of what was said first. */
const SAYS = 120
/** Larger sessions are read as far as it takes to know whose they are, and no further. */
const COUNTED_BYTES = 16 << 20

/** Reads the session once, for its name, how many messages it has, and whose it is. */
export const summaryOf = Effect.fnUntraced(function* (
  key: string,
  ref: CatalogSession,
  redactor: Redactor | undefined
): Effect.fn.Return<SessionSummary, never, SessionSource> {
  const source = yield* SessionSource
  const opening = new SessionRole.Opening()
  const isCounted = ref.sizeBytes <= COUNTED_BYTES
  const told = new ScopeBuilder(ref, redactor)
  let messages = 0
  let named: SessionEntry | undefined
  const problem = yield* Stream.runForEachWhile(source.lines(ref), (line) =>
    Effect.sync(() => {
      if (!opening.complete) opening.push(line)
      if (line instanceof HeaderLine) told.header(line.decode())
      if (line instanceof SessionEntry) {
        told.push(line)
        if (line.type === "message") messages++
        if (line.type === "session_info") named = line
      }
      return isCounted || !opening.complete
    })
  ).pipe(
    Effect.as(undefined),
    Effect.catch(({ reason }) => Effect.succeed(reason)),
    Effect.catchDefect((defect) => Effect.succeed(String(defect)))
  )
  const texts = told.scope()
  const text = (value: string): string => texts?.text(value) ?? value
  if (problem !== undefined) return { key, problem: text(problem) }
  const { rig, role } = SessionRole.detect(opening, { path: ref.path })
  // Of a session that was not read whole nobody knows which machines it names.
  const says = isCounted ? TerminalText.line(text(opening.firstUserTexts[0] ?? ""), SAYS) : ""
  const name = ref.indexed?.name ?? (named === undefined ? undefined : stringAt(named.decode(), "name")?.trim())
  return {
    key,
    role,
    ...(rig === undefined ? {} : { rig: text(rig) }),
    ...(name === undefined || name === "" ? {} : { name: text(name) }),
    ...(says === "" ? {} : { says }),
    ...(isCounted ? { messages } : {})
  }
})
