/** Rows of the list of sessions: from the catalog, and summaries from reading the sessions. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import { stringAt } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { MOST_AT_ONCE } from "../ViewLimits.ts"
import { type SessionRow, type SessionSummary } from "../ViewModel.ts"
import { type ListedSessions, type Redact } from "./ListedSessions.ts"
import { ScopeBuilder } from "./ScopeBuilder.ts"

export const sessionRows = (listed: ListedSessions): ReadonlyArray<SessionRow> =>
  [...listed.byKey].map(([key, session]) => sessionRow(key, session, listed.redact(session.path, session.cwd)))

const sessionRow = (key: string, session: CatalogSession, text: Redact): SessionRow => {
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

/** Columns of the excerpt of the first user message. */
const EXCERPT = 120
/** Of larger sessions only the beginning is read, until the role is known. */
const SUMMARY_BYTES = 16 << 20

/** Unknown keys are left out. */
export const summaries = (
  { byKey, redactor }: ListedSessions,
  keys: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<SessionSummary>, never, SessionSource> =>
  Effect.forEach(
    keys.slice(0, MOST_AT_ONCE).flatMap((key) => {
      const ref = byKey.get(key)
      return ref === undefined ? [] : [{ key, ref }]
    }),
    ({ key, ref }) => summaryOf(key, ref, redactor),
    { concurrency: 4 }
  )

/** Reads the session once: its name, number of messages, role and first user message. */
const summaryOf = Effect.fnUntraced(function* (
  key: string,
  ref: CatalogSession,
  redactor: Redactor | undefined
): Effect.fn.Return<SessionSummary, never, SessionSource> {
  const source = yield* SessionSource
  const opening = new SessionRole.Opening()
  const isWhole = ref.sizeBytes <= SUMMARY_BYTES
  const scope = new ScopeBuilder(ref, redactor)
  let messages = 0
  let named: SessionEntry | undefined
  const problem = yield* Stream.runForEachWhile(source.lines(ref), (line) =>
    Effect.sync(() => {
      if (!opening.complete) opening.push(line)
      if (line instanceof HeaderLine) scope.header(line.decode())
      if (line instanceof SessionEntry) {
        scope.push(line)
        if (line.type === "message") messages++
        if (line.type === "session_info") named = line
      }
      return isWhole || !opening.complete
    })
  ).pipe(
    Effect.as(undefined),
    Effect.catch(({ reason }) => Effect.succeed(reason)),
    Effect.catchDefect((defect) => Effect.succeed(String(defect)))
  )
  const redaction = scope.scope()
  const text = (value: string): string => redaction?.text(value) ?? value
  if (problem !== undefined) return { key, problem: text(problem) }
  const { rig, role } = SessionRole.detect(opening, { path: ref.path })
  // Redaction of messages needs the whole session: see ScopeBuilder.
  const says = isWhole ? TerminalText.line(text(opening.firstUserTexts[0] ?? ""), EXCERPT) : ""
  const name = ref.indexed?.name ?? (named === undefined ? undefined : stringAt(named.decode(), "name")?.trim())
  return {
    key,
    role,
    ...(rig === undefined ? {} : { rig: text(rig) }),
    ...(name === undefined || name === "" ? {} : { name: text(name) }),
    ...(says === "" ? {} : { says }),
    ...(isWhole ? { messages } : {})
  }
})
