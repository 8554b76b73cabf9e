/** Redacts payloads, but keeps what the viewer needs: ids of entries, types and pictures. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type RedactionScope } from "@pi-sessions/redaction/Redactor"

/** Members with ids of entries, and the type. */
const KEPT = ["id", "parentId", "targetId", "fromId", "firstKeptEntryId", "type"] as const

/** Replaces the data of the payload's pictures, in order. */
const withPictures = (payload: JsonObject, replace: (data: string) => string): JsonObject => {
  const replaced = (holder: JsonObject): JsonObject => {
    const { content } = holder
    if (!isArray(content) || !content.some(isPicture)) return holder
    return {
      ...holder,
      content: content.map((block) =>
        isPicture(block) ? { ...block, data: replace(stringAt(block, "data") ?? "") } : block
      )
    }
  }
  const message = objectAt(payload, "message")
  const whole = replaced(payload)
  return message === undefined ? whole : { ...whole, message: replaced(message) }
}

const isPicture = (block: Json): block is JsonObject =>
  isObject(block) && block["type"] === "image" && typeof block["data"] === "string"

/** Ids for which `isEntry` is true are kept. */
export const redactedPayload = (
  payload: JsonObject,
  scope: RedactionScope,
  isEntry: (id: string) => boolean
): JsonObject => {
  const pictures: Array<string> = []
  const redacted = scope.object(
    withPictures(payload, (data) => {
      pictures.push(data)
      return ""
    })
  )
  const kept: { [key: string]: Json } = {}
  for (const key of KEPT) {
    const value = stringAt(payload, key)
    if (value !== undefined && (key === "type" || isEntry(value))) kept[key] = value
  }
  const result: JsonObject = { ...redacted, ...kept }
  if (pictures.length === 0) return result
  let at = 0
  return withPictures(result, () => pictures[at++] ?? "")
}

/** All strings in a value, in any order. */
export const stringsOf = (value: Json): ReadonlyArray<string> => {
  const found: Array<string> = []
  const pending: Array<Json> = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next === "string") found.push(next)
    else if (isArray(next)) for (const one of next) pending.push(one)
    else if (isObject(next)) for (const one of Object.values(next)) if (one !== undefined) pending.push(one)
  }
  return found
}
