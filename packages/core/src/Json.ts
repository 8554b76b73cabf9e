/**
 * JSON values as `JSON.parse` returns them. Payloads of entries stay such values from the file to the consumer, so that
 * unknown fields are kept; the schemas in `payload/` check them and convert nothing.
 */
import * as Schema from "effect/Schema"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/**
 * Schema of any JSON value, for fields of unknown shape. It checks nothing: payloads come from `JSON.parse`, and checking
 * all values in a tool's details would cost more than parsing them.
 */
export const AnyJson = Schema.declare((_value): _value is Json => true)

/** Schema of any JSON object; its members are not checked. */
export const AnyJsonObject = Schema.declare(
  (value): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value)
)

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

/** The members of a type, with unchecked values: what a hand-written guard checks. */
export type Loose<Type> = { readonly [Key in keyof Type]?: unknown }

/** Whether a member is absent or of that type. */
export const isOptional = (value: unknown, type: "string" | "number" | "boolean"): boolean =>
  value === undefined || typeof value === type
