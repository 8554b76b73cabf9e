/** A tool as it is offered to a model. */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"

export const ToolDefinition = Schema.Struct({
  name: Schema.String,
  /** Empty when nobody knows it. */
  description: Schema.String,
  /** JSON Schema of the arguments. */
  parameters: Schema.Record(Schema.String, AnyJson)
})
export type ToolDefinition = typeof ToolDefinition.Type

/**
 * Where the tools of a sample come from. Only `used` says less than the model was offered.
 *
 * - `declared`: the session declares them (Pi 1.5).
 * - `thread`: the mirror recorded the request (`--threads`).
 * - `given`: a person gave them (`--tools`).
 * - `used`: nobody knows which were offered; these are those that were called, none if none was.
 */
export const ToolsSource = Schema.Literals(["declared", "thread", "given", "used"])
export type ToolsSource = typeof ToolsSource.Type
