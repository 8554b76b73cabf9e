/** The definition of a tool, as models receive it. */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"

export const ToolDefinition = Schema.Struct({
  name: Schema.String,
  /** Empty if unknown. */
  description: Schema.String,
  /** JSON Schema of the arguments. */
  parameters: Schema.Record(Schema.String, AnyJson)
})
export type ToolDefinition = typeof ToolDefinition.Type

/**
 * The source of a sample's tools.
 *
 * - `declared`: the session declares them (Pi 1.5).
 * - `thread`: the mirror recorded the request (`--threads`).
 * - `given`: from the user (`--tools`).
 * - `used`: unknown; these are the tools that are called. The model may have had more.
 */
export const ToolsSource = Schema.Literals(["declared", "thread", "given", "used"])
export type ToolsSource = typeof ToolsSource.Type
