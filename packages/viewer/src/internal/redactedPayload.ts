/** Payloads without secrets and names of people, with what the viewer needs left as it is: ids of entries, pictures. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type RedactionScope } from "@pi-sessions/redaction/Redactor"

/** Members that name entries, or say what the payload is. */
const NAMING = ["id", "parentId", "targetId", "fromId", "firstKeptEntryId", "type"] as const

/** The payload with its pictures' data replaced, in the order in which they stand. */
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

/** `isEntry` tells whether an id is that of an entry of the session: those stay, or nothing could be found again. */
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
  for (const key of NAMING) {
    const value = stringAt(payload, key)
    if (value !== undefined && (key === "type" || isEntry(value))) kept[key] = value
  }
  const seen: JsonObject = { ...redacted, ...kept }
  if (pictures.length === 0) return seen
  let at = 0
  return withPictures(seen, () => pictures[at++] ?? "")
}

/** Every string in a value, in no order. */
export const stringsOf = (value: Json): ReadonlyArray<string> => {
  const found: Array<string> = []
  const left: Array<Json> = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next === "string") found.push(next)
    else if (isArray(next)) for (const one of next) left.push(one)
    else if (isObject(next)) for (const one of Object.values(next)) if (one !== undefined) left.push(one)
  }
  return found
}
