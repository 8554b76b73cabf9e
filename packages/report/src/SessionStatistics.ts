/**
 * What a session holds, in numbers: over all its entries, those of every branch, whatever becomes of them in a dataset.
 * Tokens and money are as Pi recorded them: for answers, summaries and what extensions spent beside the conversation.
 */
import * as Schema from "effect/Schema"
import { type Json, type JsonObject, isArray, isObject, numberAt, objectAt, stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"

export const Usage = Schema.Struct({
  /** Tokens. */
  input: Schema.Number,
  output: Schema.Number,
  cache_read: Schema.Number,
  cache_write: Schema.Number,
  /** As recorded, else the sum of its parts. */
  total: Schema.Number,
  /** US dollars. */
  cost: Schema.Number
})
export type Usage = typeof Usage.Type

/** What the model did. */
export const ModelCounts = Schema.Struct({
  /** Sessions in which the model answered. */
  sessions: Schema.Int,
  /** Assistant messages, failed ones too. */
  answers: Schema.Int,
  /** Those that ended in an error or were aborted. */
  failed_answers: Schema.Int,
  tool_calls: Schema.Int,
  tool_results: Schema.Int,
  /** Results that the tool called an error. */
  tool_errors: Schema.Int,
  usage: Usage
})
export type ModelCounts = typeof ModelCounts.Type

export const SessionCounts = Schema.Struct({
  ...ModelCounts.fields,
  entries: Schema.Int,
  /** What one side said: a message of the user or the assistant, or results that follow one another. */
  turns: Schema.Int,
  user_messages: Schema.Int,
  /** Ends of branches. */
  branches: Schema.Int,
  compactions: Schema.Int,
  /** Entries of a fork that are older than the fork: copies, which count in the session that was forked as well. */
  copied: Schema.Int,
  /** What of the cost is theirs. */
  copied_cost: Schema.Number
})
export type SessionCounts = typeof SessionCounts.Type

export interface SessionStatistics {
  readonly counts: SessionCounts
  /** By id of the model, in the order in which they first answered; results count for the model that called. */
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

/** The numbers of a session of any version. */
export const of = (source: Session.Session): SessionStatistics => {
  const { header, tree } = SessionMigration.toCurrent(source)
  const fields = header?.decode() ?? {}
  const tally = new Tally(stringAt(fields, "parentSession") === undefined ? undefined : stringAt(fields, "timestamp"))
  const entries = tree.getEntries()
  const roles = new Map<string, string | undefined>()
  for (const entry of entries) {
    tally.entry(entry, entry.parentId === null ? undefined : roles.get(entry.parentId))
    if (entry.id !== null) roles.set(entry.id, entry.role)
  }
  tally.counts.branches = tree.leaves().length
  return { counts: tally.counts, models: tally.models }
}

class Tally {
  readonly counts = noSession(1)
  readonly models = new Map<string, Mutable<ModelCounts>>()
  /** When the fork was made, where it is one. */
  readonly #forked: string | undefined
  /** Who called, by id of the call. */
  readonly #callers = new Map<string, Mutable<ModelCounts>>()

  constructor(forked: string | undefined) {
    this.#forked = forked
  }

  entry(entry: SessionEntry, parentRole: string | undefined): void {
    const { counts } = this
    const before = counts.usage.cost
    counts.entries++
    switch (entry.type) {
      case "message":
        this.#message(entry, parentRole)
        break
      case "compaction":
        counts.compactions++
        this.#spent(entry.decode())
        break
      case "branch_summary":
      case "usage":
        this.#spent(entry.decode())
        break
    }
    const { timestamp } = entry
    if (this.#forked !== undefined && timestamp !== undefined && timestamp < this.#forked) {
      counts.copied++
      counts.copied_cost += counts.usage.cost - before
    }
  }

  #message(entry: SessionEntry, parentRole: string | undefined): void {
    const { counts } = this
    switch (entry.role) {
      case "user":
        counts.user_messages++
        counts.turns++
        return
      case "assistant":
        counts.turns++
        return this.#answer(objectAt(entry.decode(), "message") ?? {})
      case "toolResult":
        if (parentRole !== "toolResult") counts.turns++
        return this.#result(objectAt(entry.decode(), "message") ?? {})
    }
  }

  #answer(message: JsonObject): void {
    const { counts } = this
    const model = this.#model(stringAt(message, "model") ?? "")
    const calls = callsOf(message["content"])
    const failed = message["stopReason"] === "error" || message["stopReason"] === "aborted" ? 1 : 0
    const usage = usageOf(objectAt(message, "usage"))
    for (const one of [counts, model]) {
      one.answers++
      one.failed_answers += failed
      one.tool_calls += calls.length
      one.usage = addUsage(one.usage, usage)
    }
    for (const call of calls) this.#callers.set(stringAt(call, "id") ?? "", model)
  }

  #result(message: JsonObject): void {
    const caller = this.#callers.get(stringAt(message, "toolCallId") ?? "")
    const failed = message["isError"] === true ? 1 : 0
    for (const one of caller === undefined ? [this.counts] : [this.counts, caller]) {
      one.tool_results++
      one.tool_errors += failed
    }
  }

  /** Of a model that is named; summaries do not name theirs. */
  #spent(payload: JsonObject): void {
    const recorded = objectAt(payload, "usage")
    if (recorded === undefined) return
    const usage = usageOf(recorded)
    this.counts.usage = addUsage(this.counts.usage, usage)
    const model = stringAt(payload, "model")
    if (model === undefined) return
    const spender = this.models.get(model) ?? this.#model(model)
    spender.usage = addUsage(spender.usage, usage)
  }

  #model(name: string): Mutable<ModelCounts> {
    const known = this.models.get(name)
    if (known !== undefined) return known
    const model = noModel(1)
    this.models.set(name, model)
    return model
  }
}

const callsOf = (content: Json | undefined): ReadonlyArray<JsonObject> =>
  isArray(content) ? content.filter(isObject).filter((block) => block["type"] === "toolCall") : []

const usageOf = (recorded: JsonObject | undefined): Usage => {
  if (recorded === undefined) return noUsage()
  const tokens = (key: string): number => numberAt(recorded, key) ?? 0
  const cost = objectAt(recorded, "cost") ?? {}
  const dollars = (key: string): number => numberAt(cost, key) ?? 0
  const [input, output] = [tokens("input"), tokens("output")]
  const [cache_read, cache_write] = [tokens("cacheRead"), tokens("cacheWrite")]
  return {
    input,
    output,
    cache_read,
    cache_write,
    total: numberAt(recorded, "totalTokens") ?? input + output + cache_read + cache_write,
    cost: numberAt(cost, "total") ?? dollars("input") + dollars("output") + dollars("cacheRead") + dollars("cacheWrite")
  }
}
