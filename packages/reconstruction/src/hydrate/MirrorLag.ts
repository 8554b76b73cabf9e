/**
 * What a thread shows of lines that it does not hold yet. After kill -9 the last lines that Pi wrote reach the thread when
 * Pi runs again; until then the raw lines are a file without gaps that ends too early. Other entries of the thread may
 * tell: turns, the entry that Pi stood at when it asked a model, an answer that was being streamed.
 */
import * as RawTurns from "./RawTurns.ts"
import { type Lineage } from "./LosslessHydration.ts"
import { type RawEntry, type RawHeader, type Thread } from "../Thread.ts"

/** A reason to believe that the session file holds more than the thread's raw lines. */
export interface Lag {
  /** Whether it cannot be otherwise. Not so for an answer that may never have been finished, and for chats. */
  readonly certain: boolean
  readonly reason: string
}

/** All reasons in the thread, the certain ones first; none when it shows nothing. */
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

/** The latest time that a raw line of the lineage carries; 0 when none does. */
const newestTime = (thread: Thread, lineage: Lineage): number =>
  thread.entries.reduce((newest, entry) => {
    if (entry.type !== "pi.session_entry" || !isOf(lineage, entry.payload)) return newest
    return Math.max(newest, timeOf(entry.createdAt))
  }, 0)

const timeOf = (time: string | undefined): number => {
  const ms = time === undefined ? Number.NaN : Date.parse(time)
  return Number.isNaN(ms) ? 0 : ms
}

/** A file that Pi rewrote is sent anew from its first line, as a generation that is shorter until all of it is sent. */
const olderGenerations = (thread: Thread, lineage: Lineage, ids: ReadonlySet<string>, newest: number): number =>
  thread.entries.filter(
    (entry) =>
      entry.type === "pi.session_entry" &&
      entry.payload.sessionId === lineage.sessionId &&
      !isOf(lineage, entry.payload) &&
      timeOf(entry.createdAt) > newest &&
      RawTurns.entryIdsOf(entry.payload).some((id) => !ids.has(id))
  ).length

/** Requests to a model that were made at an entry which is in no raw line, after all entries that are. */
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
          // Pi writes a file once it holds an answer; before, an entry may never have been written.
          certain: RawTurns.hasAnswer(lineage),
          reason: `Pi asked a model at entry ${missing.afterEntryId}, which is in no raw line`
        },
    unseen === undefined
      ? undefined
      : { certain: false, reason: `session ${unseen.sessionId} asked a model later, and none of its lines is here` }
  ]
}

/** Answers that were streamed after the last raw line and are in none. Pi may have died in the middle of them. */
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
