/**
 * Takes away what is wrong with an entry but not needed: an optional field with a null or of another kind. A mirror
 * that writes `"author": null` has still told us what somebody said.
 */
import { type Json, type JsonObject, isArray, isObject, objectAt } from "@pi-sessions/core/Json"
import { isUsage } from "@pi-sessions/core/Usage"

type Check = (value: Json) => boolean

const text: Check = (value) => typeof value === "string"
const number: Check = (value) => typeof value === "number"
const flag: Check = (value) => typeof value === "boolean"

const author: Check = (value) =>
  isObject(value) && ["id", "name", "kind"].every((key) => value[key] === undefined || text(value[key]))
const attachments: Check = (value) =>
  isArray(value) && value.every((one) => isObject(one) && typeof one["mimeType"] === "string")

/** Optional fields of the payloads by type of entry. */
const OPTIONAL: { readonly [type: string]: { readonly [key: string]: Check } } = {
  chat: { text, author, attachments },
  "pi.assistant": {
    api: text,
    provider: text,
    model: text,
    usage: (value) => isUsage(value),
    stopReason: text,
    errorMessage: text,
    timestamp: number
  },
  "pi.tool_result": { toolCallId: text, toolName: text, isError: flag, timestamp: number },
  "pi.compaction": { tokensBefore: number, keptFrom: text }
}

const ENTRY: { readonly [key: string]: Check } = { threadId: text, createdAt: text }

const without = (
  object: JsonObject,
  checks: { readonly [key: string]: Check },
  wrong: Array<string>,
  prefix: string
): JsonObject => {
  const kept: Record<string, Json | undefined> = {}
  for (const [key, value] of Object.entries(object)) {
    const check = checks[key]
    if (value === undefined || check === undefined || check(value)) kept[key] = value
    // A null is how many programs write "absent": nothing to report.
    else if (value !== null) wrong.push(`${prefix}${key}`)
  }
  return kept
}

/** The entry without its wrong optional fields, and the names of those that held something. */
export const lenient = (entry: JsonObject): { readonly entry: JsonObject; readonly wrong: ReadonlyArray<string> } => {
  const wrong: Array<string> = []
  const { createdAt } = entry
  // Unix time in milliseconds, where others write ISO 8601.
  const dated =
    typeof createdAt === "number" && Math.abs(createdAt) <= 8.64e15
      ? { ...entry, createdAt: new Date(createdAt).toISOString() }
      : entry
  const checked = without(dated, ENTRY, wrong, "")
  const payload = objectAt(entry, "payload")
  const checks = OPTIONAL[String(entry["type"])]
  if (payload === undefined || checks === undefined) return { entry: checked, wrong }
  return { entry: { ...checked, payload: without(payload, checks, wrong, "payload.") }, wrong }
}
