/**
 * JSON values as `JSON.parse` gives them. Payloads of entries stay such values from the file to the consumer, so that
 * fields this library does not know pass through untouched; the schemas beside them are guards, not converters.
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !isArray(value)

export const isArray = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** The member `key` when it is a string. */
export const stringAt = (object: JsonObject, key: string): string | undefined => {
  const value = object[key]
  return typeof value === "string" ? value : undefined
}

/** The member `key` when it is a number. */
export const numberAt = (object: JsonObject, key: string): number | undefined => {
  const value = object[key]
  return typeof value === "number" ? value : undefined
}

/** The member `key` when it is an object. */
export const objectAt = (object: JsonObject, key: string): JsonObject | undefined => {
  const value = object[key]
  return isObject(value) ? value : undefined
}
