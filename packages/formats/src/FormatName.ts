/**
 * The names of the formats. A module of its own, so that a command line knows the names without loading the formats.
 */
import * as Schema from "effect/Schema"

export const FormatName = Schema.Literals([
  "messages",
  "axolotl",
  "sharegpt",
  "llama-factory",
  "ms-swift",
  "openai",
  "mistral",
  "lora-forge",
  "dpo",
  "tokens",
  "parquet",
  "pi"
])
export type FormatName = typeof FormatName.Type

/** How the arguments of tool calls are written. */
export const ArgumentsForm = Schema.Literals(["object", "string"])
export type ArgumentsForm = typeof ArgumentsForm.Type
