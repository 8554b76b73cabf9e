/** When an entry was written: its own word counts, its message's stands in where the entry's is none. */
import { type JsonObject, numberAt, objectAt } from "./Json.ts"
import { type SessionEntry } from "./SessionLine.ts"

/**
 * The entry's timestamp, or, where that is absent or no date, its message's in ISO 8601. Without either it is what stands
 * in the entry. The entry is decoded only when its own timestamp is not enough and no `payload` is given.
 */
export const of = (entry: SessionEntry, payload?: JsonObject): string | undefined => {
  const { timestamp } = entry
  if (timestamp !== undefined && !Number.isNaN(Date.parse(timestamp))) return timestamp
  const milliseconds = numberAt(objectAt(payload ?? entry.decode(), "message") ?? {}, "timestamp")
  const date = new Date(milliseconds ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? timestamp : date.toISOString()
}
