/**
 * Checks thread entries, and repairs those with a wrong optional field: null or another type. An entry with
 * `"author": null` still has its text.
 */
import { type Json, type JsonObject, isArray, isObject, isOptional, objectAt } from "@pi-sessions/core/Json"
import { isUsage } from "@pi-sessions/core/payload/Usage"
import { type ThreadEntry } from "../Thread.ts"

type Check = (value: Json | undefined) => boolean
/** By field. A map, because the keys of an entry may be `__proto__` or the name of a method of every object. */
type Checks = ReadonlyMap<string, Check>

const checksOf = (checks: { readonly [key: string]: Check }): Checks => new Map(Object.entries(checks))

const text: Check = (value) => typeof value === "string"
const number: Check = (value) => typeof value === "number"
const integer: Check = (value) => Number.isSafeInteger(value)
const flag: Check = (value) => typeof value === "boolean"
const role: Check = (value) => value === "user" || value === "assistant" || value === "system"
const content: Check = (value) =>
  typeof value === "string" ||
  (isArray(value) && value.every((block) => isObject(block) && typeof block["type"] === "string"))
const author: Check = (value) =>
  isObject(value) && ["id", "name", "kind"].every((key) => isOptional(value[key], "string"))
const attachments: Check = (value) =>
  isArray(value) && value.every((one) => isObject(one) && typeof one["mimeType"] === "string")

const absentOr =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

interface PayloadChecks {
  /** An entry that fails one of these is not usable. */
  readonly needed: Checks
  /** A field that fails is removed; the entry stays usable. */
  readonly optional: Checks
}

/** By type of entry: what the schemas of Thread.ts say, in plain code, which is ten times as fast. */
const PAYLOADS: ReadonlyMap<Json | undefined, PayloadChecks> = new Map([
  ["chat", { needed: checksOf({ role }), optional: checksOf({ text, author, attachments }) }],
  [
    "pi.assistant",
    {
      needed: checksOf({ content }),
      optional: checksOf({
        api: text,
        provider: text,
        model: text,
        usage: isUsage,
        stopReason: text,
        errorMessage: text,
        timestamp: number
      })
    }
  ],
  [
    "pi.tool_result",
    {
      needed: checksOf({ content: absentOr(content) }),
      optional: checksOf({ toolCallId: text, toolName: text, isError: flag, timestamp: number })
    }
  ],
  [
    "pi.compaction",
    { needed: checksOf({ summary: text }), optional: checksOf({ tokensBefore: number, keptFrom: text }) }
  ],
  [
    "pi.session_entry",
    {
      needed: checksOf({
        sessionId: text,
        sha256: text,
        seq: integer,
        generation: absentOr(integer),
        entryId: (value) => value === null || isOptional(value, "string"),
        line: absentOr(text),
        lineBase64: absentOr(text)
      }),
      optional: new Map()
    }
  ]
])

const ENTRY = checksOf({ threadId: text, createdAt: text })

/** The largest time of a JavaScript date, in milliseconds. */
const MAX_TIME = 8.64e15

/** The entry without its wrong optional fields, and the names of those that were not null. */
export const lenient = (entry: JsonObject): { readonly entry: JsonObject; readonly wrong: ReadonlyArray<string> } => {
  const wrong: Array<string> = []
  const { createdAt } = entry
  // Some programs write Unix time in milliseconds instead of ISO 8601.
  const dated =
    typeof createdAt === "number" && Math.abs(createdAt) <= MAX_TIME
      ? { ...entry, createdAt: new Date(createdAt).toISOString() }
      : entry
  const checked = without(dated, ENTRY, wrong, "")
  const payload = objectAt(entry, "payload")
  const checks = PAYLOADS.get(entry["type"])
  if (payload === undefined || checks === undefined) return { entry: checked, wrong }
  return { entry: { ...checked, payload: without(payload, checks.optional, wrong, "payload.") }, wrong }
}

const without = (object: JsonObject, checks: Checks, wrong: Array<string>, prefix: string): JsonObject => {
  const kept = Object.entries(object).filter(([key, value]) => {
    const check = checks.get(key)
    if (value === undefined || check === undefined || check(value)) return true
    // Many programs write null for "absent"; it is not reported.
    if (value !== null) wrong.push(`${prefix}${key}`)
    return false
  })
  return Object.fromEntries(kept)
}

type Written = Exclude<ThreadEntry, { readonly type: "interrupted" | "raw" }>

/** Whether an entry is valid as it is. False means that the schema must decide. */
export const isFlawless = (entry: JsonObject): entry is JsonObject & Written => {
  const { id, payload, type } = entry
  const checks = PAYLOADS.get(type)
  if (typeof id !== "string" || !isObject(payload) || checks === undefined) return false
  // The schema checks attachments further.
  if (type === "chat" && payload["attachments"] !== undefined) return false
  return hasOptional(entry, ENTRY) && hasNeeded(payload, checks.needed) && hasOptional(payload, checks.optional)
}

const hasNeeded = (object: JsonObject, checks: Checks): boolean => {
  for (const [key, check] of checks) if (!check(object[key])) return false
  return true
}

const hasOptional = (object: JsonObject, checks: Checks): boolean => {
  for (const [key, check] of checks) if (object[key] !== undefined && !check(object[key])) return false
  return true
}
