/** Tokens and cost of one model call, as Pi records them. */
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

/** Numbers of tokens. Every field is optional: Pi loads a message with `{}`. */
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

/** A guard in plain code, because it is faster than the schema. Tests check that both agree on all JSON values. */
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
