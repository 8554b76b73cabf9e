/** Makes ids for calls and results that lack the id which connects them. */
import * as EntryId from "@pi-sessions/core/EntryId"
import { type JsonObject, isArray, isObject, objectAt } from "@pi-sessions/core/Json"
import { type ToolLinks } from "../doctor/ToolLinks.ts"
import { type MessageFacts } from "../doctor/messageFacts.ts"

export interface CallIds {
  /** By index of the assistant's entry: the new ids, by position of the call. */
  readonly calls: ReadonlyMap<number, ReadonlyMap<number, string>>
  /** By index of the result's entry: the new id. */
  readonly results: ReadonlyMap<number, string>
}

const PREFIX = "call_"

/** A call keeps its id or gets that of its result; if neither has one, both get a new one. */
export const callIds = (
  facts: ReadonlyArray<MessageFacts | undefined>,
  { byPlace }: ToolLinks,
  sessionId: string
): CallIds => {
  const calls = new Map<number, Map<number, string>>()
  const results = new Map<number, string>()
  const give = (entry: number, position: number, id: string): void => {
    const given = calls.get(entry) ?? new Map<number, string>()
    if (!given.has(position)) given.set(position, id)
    calls.set(entry, given)
  }
  for (const [result, { entry, position }] of byPlace) {
    const id = facts[result]?.resultOf ?? null
    if (id !== null && facts[entry]?.mendedCalls[position]?.id === null) give(entry, position, id)
  }
  const taken = new Set(facts.flatMap((fact) => (fact?.mendedCalls ?? []).flatMap(({ id }) => id ?? [])))
  for (const [entry, fact] of facts.entries()) {
    for (const [position, { id }] of (fact?.mendedCalls ?? []).entries()) {
      if (id !== null || calls.get(entry)?.has(position) === true) continue
      const isTaken = { has: (digits: string) => taken.has(PREFIX + digits) }
      const made = PREFIX + EntryId.derive(isTaken, "doctor", sessionId, "call", String(entry), String(position))
      taken.add(made)
      give(entry, position, made)
    }
  }
  for (const [result, { entry, position }] of byPlace) {
    const id = facts[entry]?.mendedCalls[position]?.id ?? calls.get(entry)?.get(position)
    if (id !== undefined && id !== null && id !== facts[result]?.resultOf) results.set(result, id)
  }
  return { calls, results }
}

/** The payload with the new ids of its calls or result. */
export const withCallIds = (index: number, payload: JsonObject, { calls, results }: CallIds): JsonObject => {
  const message = objectAt(payload, "message")
  if (message === undefined) return payload
  const toolCallId = results.get(index)
  if (toolCallId !== undefined) return { ...payload, message: { ...message, toolCallId } }
  const given = calls.get(index)
  const { content } = message
  if (given === undefined || !isArray(content)) return payload
  let position = 0
  const named = content.map((block) => {
    if (!isObject(block) || block["type"] !== "toolCall") return block
    const id = given.get(position++)
    return id === undefined ? block : { ...block, id }
  })
  return { ...payload, message: { ...message, content: named } }
}
