/** Tokens and money of one model call, as Pi records them. */
import * as Schema from "effect/Schema"
import { AnyJson, type Json, type JsonObject, type Loose, isObject, isOptional } from "../Json.ts"

export const Cost = Schema.Struct({
  /** US dollars. */
  input: Schema.optionalKey(Schema.Number),
  output: Schema.optionalKey(Schema.Number),
  cacheRead: Schema.optionalKey(Schema.Number),
  cacheWrite: Schema.optionalKey(Schema.Number),
  total: Schema.optionalKey(Schema.Number),
  /** 1.5 */
  totalFromProvider: Schema.optionalKey(AnyJson)
})
export type Cost = typeof Cost.Type

/** Every field is optional: `{}` is enough for Pi to load the message. Counts are tokens. */
export const Usage = Schema.Struct({
  input: Schema.optionalKey(Schema.Number),
  output: Schema.optionalKey(Schema.Number),
  cacheRead: Schema.optionalKey(Schema.Number),
  cacheWrite: Schema.optionalKey(Schema.Number),
  totalTokens: Schema.optionalKey(Schema.Number),
  cost: Schema.optionalKey(Cost),
  /** 1.5 */
  cacheWrite1h: Schema.optionalKey(Schema.Number),
  reasoning: Schema.optionalKey(Schema.Number)
})
export type Usage = typeof Usage.Type

/** In plain code, since there is so much to guard: of JSON values just what the schema says (tested). */
export const isUsage = (value: Json | undefined): value is Usage & JsonObject => {
  if (!isObject(value)) return false
  const { input, output, cacheRead, cacheWrite, totalTokens, cacheWrite1h, reasoning, cost }: Loose<Usage> = value
  return (
    isOptional(input, "number") &&
    isOptional(output, "number") &&
    isOptional(cacheRead, "number") &&
    isOptional(cacheWrite, "number") &&
    isOptional(totalTokens, "number") &&
    isOptional(cacheWrite1h, "number") &&
    isOptional(reasoning, "number") &&
    (cost === undefined || isCost(value["cost"]))
  )
}

const isCost = (value: Json | undefined): boolean => {
  if (!isObject(value)) return false
  const { input, output, cacheRead, cacheWrite, total }: Loose<Cost> = value
  return (
    isOptional(input, "number") &&
    isOptional(output, "number") &&
    isOptional(cacheRead, "number") &&
    isOptional(cacheWrite, "number") &&
    isOptional(total, "number")
  )
}
