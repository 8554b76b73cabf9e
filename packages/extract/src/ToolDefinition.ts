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

/** Where the definitions of a session's tools come from; see ToolSchemas.ts. */
export const ToolsSource = Schema.Literals(["session", "thread", "file", "builtin", "inferred", "mixed", "none"])
export type ToolsSource = typeof ToolsSource.Type
