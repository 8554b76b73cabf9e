/**
 * Counts all entries of a session, on every branch, whether or not a dataset uses them.
 *
 * Tokens and cost are summed as in Pi 1.5's footer and `/session`: the usage recorded with answers (failed ones too), tool
 * results, compactions, branch summaries and `usage` entries.
 */
import * as Schema from "effect/Schema"
import * as EntryTime from "@pi-sessions/core/EntryTime"
import { type Json, type JsonObject, isArray, isObject, numberAt, objectAt, stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import * as Calendar from "./Calendar.ts"

export const Usage = Schema.Struct({
  /** Tokens. */
  input: Schema.Number,
  output: Schema.Number,
  cache_read: Schema.Number,
  cache_write: Schema.Number,
  /** The sum of the four, as in Pi. The recorded total counts only if none of the four is recorded. */
  total: Schema.Number,
  /** US dollars. */
  cost: Schema.Number
})
export type Usage = typeof Usage.Type

/** Counts of a model's work. */
export const ModelCounts = Schema.Struct({
  /** Of a model: sessions with an answer of it. Of a day or week: sessions with an entry in it. */
  sessions: Schema.Int,
  /** Assistant messages, failed ones too. */
  answers: Schema.Int,
  /** Answers that ended in an error or were aborted. */
  failed_answers: Schema.Int,
  tool_calls: Schema.Int,
  tool_results: Schema.Int,
  /** Results with `isError`. */
  tool_errors: Schema.Int,
  usage: Usage
})
export type ModelCounts = typeof ModelCounts.Type

export const SessionCounts = Schema.Struct({
  ...ModelCounts.fields,
  entries: Schema.Int,
  /** Messages of users and answers; consecutive tool results are one turn. */
  turns: Schema.Int,
  user_messages: Schema.Int,
  /** Entries without a child. */
  branches: Schema.Int,
  compactions: Schema.Int,
  /** Entries of a fork that are older than the fork: they also count in the session that they were copied from. */
  copied: Schema.Int,
  /** Cost of the copied entries. */
  copied_cost: Schema.Number
})
export type SessionCounts = typeof SessionCounts.Type

export interface SessionStatistics {
  readonly counts: SessionCounts
  /** By day in UTC (Calendar.ts). Adds up to `counts`, except `sessions`. */
  readonly days: ReadonlyMap<string, SessionCounts>
  /**
   * By model id; "" is unknown. Answers and `usage` entries name their model, a tool result counts for the model that
   * answered before it, a summary for the model of its branch. Adds up to `counts`, except `sessions`.
   */
  readonly models: ReadonlyMap<string, ModelCounts>
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const noUsage = (): Usage => ({ input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0, cost: 0 })

const noModel = (sessions: number): Mutable<ModelCounts> => ({
  sessions,
  answers: 0,
  failed_answers: 0,
  tool_calls: 0,
  tool_results: 0,
  tool_errors: 0,
  usage: noUsage()
})

const noSession = (sessions: number): Mutable<SessionCounts> => ({
  ...noModel(sessions),
  entries: 0,
  turns: 0,
  user_messages: 0,
  branches: 0,
  compactions: 0,
  copied: 0,
  copied_cost: 0
})

const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cache_read: a.cache_read + b.cache_read,
  cache_write: a.cache_write + b.cache_write,
  total: a.total + b.total,
  cost: a.cost + b.cost
})

const addModel = (a: ModelCounts, b: ModelCounts): ModelCounts => ({
  sessions: a.sessions + b.sessions,
  answers: a.answers + b.answers,
  failed_answers: a.failed_answers + b.failed_answers,
  tool_calls: a.tool_calls + b.tool_calls,
  tool_results: a.tool_results + b.tool_results,
  tool_errors: a.tool_errors + b.tool_errors,
  usage: addUsage(a.usage, b.usage)
})

const addSession = (a: SessionCounts, b: SessionCounts): SessionCounts => ({
  ...addModel(a, b),
  entries: a.entries + b.entries,
  turns: a.turns + b.turns,
  user_messages: a.user_messages + b.user_messages,
  branches: a.branches + b.branches,
  compactions: a.compactions + b.compactions,
  copied: a.copied + b.copied,
  copied_cost: a.copied_cost + b.copied_cost
})

export const sumSessions = (all: Iterable<SessionCounts>): SessionCounts => {
  let sum: SessionCounts = noSession(0)
  for (const one of all) sum = addSession(sum, one)
  return sum
}

export const sumModels = (all: Iterable<ModelCounts>): ModelCounts => {
  let sum: ModelCounts = noModel(0)
  for (const one of all) sum = addModel(sum, one)
  return sum
}

/** Counts a session of any version. */
export const of = (source: Session.Session): SessionStatistics => {
  const { header, tree } = SessionMigration.toCurrent(source)
  const fields = header?.decode() ?? {}
  const tally = new Tally(stringAt(fields, "parentSession") === undefined ? undefined : stringAt(fields, "timestamp"))
  const ends = new Set(tree.leaves())
  const places = new Map<string, Place>()
  for (const entry of tree.getEntries()) {
    const parent = entry.parentId === null ? undefined : places.get(entry.parentId)
    const place = tally.entry(entry, parent ?? ROOT, ends.has(entry))
    if (entry.id !== null) places.set(entry.id, place)
  }
  return { counts: { ...sumSessions(tally.days.values()), sessions: 1 }, days: tally.days, models: tally.models }
}

/** What an entry's children need to know of their branch. */
interface Place {
  readonly role: string | undefined
  /** The last model that answered or was chosen. */
  readonly model: string
  /** The last model that answered; undefined before the first answer. */
  readonly answered: string | undefined
}

const ROOT: Place = { role: undefined, model: "", answered: undefined }

class Tally {
  readonly days = new Map<string, Mutable<SessionCounts>>()
  readonly models = new Map<string, Mutable<ModelCounts>>()
  /** Time of the fork; undefined unless the session is a fork. */
  readonly #forked: string | undefined

  constructor(forked: string | undefined) {
    this.#forked = forked
  }

  entry(entry: SessionEntry, parent: Place, isEnd: boolean): Place {
    const day = this.#day(Calendar.dayOf(EntryTime.of(entry) ?? ""))
    const before = day.usage.cost
    day.entries++
    if (isEnd) day.branches++
    const place = this.#count(entry, parent, day)
    const { timestamp } = entry
    if (this.#forked !== undefined && timestamp !== undefined && timestamp < this.#forked) {
      day.copied++
      day.copied_cost += day.usage.cost - before
    }
    return place
  }

  #count(entry: SessionEntry, parent: Place, day: Mutable<SessionCounts>): Place {
    switch (entry.type) {
      case "message":
        return this.#message(entry, parent, day)
      case "model_change":
        return { ...parent, role: entry.role, model: stringAt(entry.decode(), "modelId") ?? parent.model }
      case "compaction":
        day.compactions++
        this.#spent(entry.decode(), parent, day)
        break
      case "branch_summary":
      case "usage":
        this.#spent(entry.decode(), parent, day)
    }
    return { ...parent, role: entry.role }
  }

  #message(entry: SessionEntry, parent: Place, day: Mutable<SessionCounts>): Place {
    switch (entry.role) {
      case "user":
        day.user_messages++
        day.turns++
        break
      case "assistant": {
        day.turns++
        const message = objectAt(entry.decode(), "message") ?? {}
        const model = stringAt(message, "model") ?? ""
        this.#answer(message, [day, this.#model(model)])
        return { role: entry.role, model, answered: model }
      }
      case "toolResult":
        if (parent.role !== "toolResult") day.turns++
        this.#result(objectAt(entry.decode(), "message") ?? {}, [day, this.#model(parent.answered ?? parent.model)])
    }
    return { ...parent, role: entry.role }
  }

  #answer(message: JsonObject, counts: ReadonlyArray<Mutable<ModelCounts>>): void {
    const calls = callsOf(message["content"]).length
    const failed = message["stopReason"] === "error" || message["stopReason"] === "aborted" ? 1 : 0
    const usage = usageOf(objectAt(message, "usage"))
    for (const one of counts) {
      one.sessions = 1
      one.answers++
      one.failed_answers += failed
      one.tool_calls += calls
      one.usage = addUsage(one.usage, usage)
    }
  }

  #result(message: JsonObject, counts: ReadonlyArray<Mutable<ModelCounts>>): void {
    const failed = message["isError"] === true ? 1 : 0
    const usage = usageOf(objectAt(message, "usage"))
    for (const one of counts) {
      one.tool_results++
      one.tool_errors += failed
      one.usage = addUsage(one.usage, usage)
    }
  }

  #spent(payload: JsonObject, parent: Place, day: Mutable<SessionCounts>): void {
    const recorded = objectAt(payload, "usage")
    if (recorded === undefined) return
    const usage = usageOf(recorded)
    for (const one of [day, this.#model(stringAt(payload, "model") ?? parent.model)])
      one.usage = addUsage(one.usage, usage)
  }

  #day(name: string): Mutable<SessionCounts> {
    return getOrAdd(this.days, name, () => noSession(1))
  }

  #model(name: string): Mutable<ModelCounts> {
    return getOrAdd(this.models, name, () => noModel(0))
  }
}

const getOrAdd = <C>(counts: Map<string, C>, name: string, make: () => C): C => {
  const known = counts.get(name)
  if (known !== undefined) return known
  const fresh = make()
  counts.set(name, fresh)
  return fresh
}

const callsOf = (content: Json | undefined): ReadonlyArray<JsonObject> =>
  isArray(content) ? content.filter(isObject).filter((block) => block["type"] === "toolCall") : []

const PARTS = ["input", "output", "cacheRead", "cacheWrite"]

const usageOf = (recorded: JsonObject | undefined): Usage => {
  if (recorded === undefined) return noUsage()
  const tokens = (key: string): number => numberAt(recorded, key) ?? 0
  const cost = objectAt(recorded, "cost") ?? {}
  const dollars = (key: string): number => numberAt(cost, key) ?? 0
  const [input, output] = [tokens("input"), tokens("output")]
  const [cache_read, cache_write] = [tokens("cacheRead"), tokens("cacheWrite")]
  const hasParts = PARTS.some((key) => numberAt(recorded, key) !== undefined)
  return {
    input,
    output,
    cache_read,
    cache_write,
    total: hasParts ? input + output + cache_read + cache_write : tokens("totalTokens"),
    cost: numberAt(cost, "total") ?? dollars("input") + dollars("output") + dollars("cacheRead") + dollars("cacheWrite")
  }
}
