/** When an entry was written: its timestamp, or its message's where the entry has no valid one. */
import { type JsonObject, numberAt, objectAt } from "./Json.ts"
import { type SessionEntry } from "./SessionLine.ts"

/**
 * The entry's timestamp; where it is not a date, the message's as ISO 8601; where neither is a date, the entry's timestamp
 * as it is. Decodes the entry only when its own timestamp is not a date and no `payload` is given.
 */
export const of = (entry: SessionEntry, payload?: JsonObject): string | undefined => {
  const { timestamp } = entry
  if (timestamp !== undefined && !Number.isNaN(Date.parse(timestamp))) return timestamp
  const milliseconds = numberAt(objectAt(payload ?? entry.decode(), "message") ?? {}, "timestamp")
  const date = new Date(milliseconds ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? timestamp : date.toISOString()
}
