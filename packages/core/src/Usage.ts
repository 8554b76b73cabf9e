/** Tokens and money of one model call, as Pi records them. */
import * as Schema from "effect/Schema"
import { AnyJson } from "./Json.ts"

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

export const isUsage = Schema.is(Usage)
