/**
 * Finds signs that a session file has lines which the thread lacks (docs/adr/007-mirroring.md). After kill -9 the raw lines
 * are a file without gaps that ends too early. Later turns, request contexts and chunks in the thread may show it.
 */
import * as RawTurns from "./RawTurns.ts"
import { type Lineage } from "./LosslessHydration.ts"
import { type RawEntry, type RawHeader, type Thread } from "../Thread.ts"

/** A sign that the session file has more lines than the thread. */
export interface Lag {
  /** False for chats, and for answers that Pi may not have finished. */
  readonly certain: boolean
  readonly reason: string
}

/** All signs in the thread, the certain ones first. */
export const find = (thread: Thread, lineage: Lineage): ReadonlyArray<Lag> => {
  const turns = RawTurns.laterTurns(thread, lineage)
  const newest = newestTime(thread, lineage)
  const ids = entryIds(lineage.lines.values())
  const lags = [
    lag(turns.pi, true, (count) => `turns of Pi after the last raw line, not in the file: ${count}`),
    lag(olderGenerations(thread, lineage, ids, newest), true, (count) => {
      const { generation } = lineage
      return `entries in earlier generations that are newer than all of generation ${generation}, not in the file: ${count}`
    }),
    ...requests(thread, lineage, ids, newest),
    lag(turns.chats, false, (count) => `chats after the last raw line, not in the file: ${count}`),
    lag(streamed(thread, lineage), false, (count) => `answers that were streamed after the last raw line: ${count}`)
  ]
  return lags.filter((found) => found !== undefined).sort((a, b) => Number(b.certain) - Number(a.certain))
}

const lag = (count: number, certain: boolean, reason: (count: number) => string): Lag | undefined =>
  count === 0 ? undefined : { certain, reason: reason(count) }

const entryIds = (lines: Iterable<RawEntry>): ReadonlySet<string> => {
  const ids = new Set<string>()
  for (const line of lines) for (const id of RawTurns.entryIdsOf(line)) ids.add(id)
  return ids
}

const isOf = (lineage: Lineage, { generation, sessionId }: RawEntry | RawHeader): boolean =>
  sessionId === lineage.sessionId && (generation ?? 0) === lineage.generation

/** The latest time of the lineage's raw lines, in milliseconds; 0 when none has a time. */
const newestTime = (thread: Thread, lineage: Lineage): number =>
  thread.entries.reduce((newest, entry) => {
    if (entry.type !== "pi.session_entry" || !isOf(lineage, entry.payload)) return newest
    return Math.max(newest, timeOf(entry.createdAt))
  }, 0)

const timeOf = (time: string | undefined): number => {
  const ms = time === undefined ? Number.NaN : Date.parse(time)
  return Number.isNaN(ms) ? 0 : ms
}

/** A rewritten file is sent again from its first line, so at first its generation is shorter than the one before. */
const olderGenerations = (thread: Thread, lineage: Lineage, ids: ReadonlySet<string>, newest: number): number =>
  thread.entries.filter(
    (entry) =>
      entry.type === "pi.session_entry" &&
      entry.payload.sessionId === lineage.sessionId &&
      !isOf(lineage, entry.payload) &&
      timeOf(entry.createdAt) > newest &&
      RawTurns.entryIdsOf(entry.payload).some((id) => !ids.has(id))
  ).length

/** Requests to a model that are later than all raw lines and were made at an entry without a raw line. */
const requests = (
  thread: Thread,
  lineage: Lineage,
  ids: ReadonlySet<string>,
  newest: number
): ReadonlyArray<Lag | undefined> => {
  const later = thread.requests.filter(({ createdAt }) => timeOf(createdAt) > newest)
  if (later.length === 0) return []
  const missing = later.findLast(
    ({ afterEntryId, sessionId }) =>
      sessionId === lineage.sessionId && afterEntryId !== undefined && !ids.has(afterEntryId)
  )
  const held = new Set(thread.entries.flatMap((entry) => ("sessionId" in entry.payload ? entry.payload.sessionId : [])))
  const unseen = later.findLast(({ sessionId }) => !held.has(sessionId))
  return [
    missing === undefined
      ? undefined
      : {
          // Pi creates the file with the first answer; earlier entries may never have been written.
          certain: RawTurns.hasAnswer(lineage),
          reason: `Pi asked a model at entry ${missing.afterEntryId}, which is in no raw line`
        },
    unseen === undefined
      ? undefined
      : { certain: false, reason: `session ${unseen.sessionId} asked a model later, and none of its lines is here` }
  ]
}

/** Interrupted answers after the last raw line. Pi may have died before it wrote them. */
const streamed = (thread: Thread, lineage: Lineage): number => {
  const last = thread.entries.findLastIndex(({ type }) => type === "pi.session_entry")
  return thread.entries
    .slice(last + 1)
    .filter(
      (entry) =>
        entry.type === "interrupted" &&
        (entry.payload.messageId === undefined || entry.payload.messageId.startsWith(`${lineage.sessionId}-`))
    ).length
}
