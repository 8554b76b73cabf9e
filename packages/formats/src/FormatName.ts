/** The names of the formats, apart from the formats themselves: a command line knows them without loading any. */
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

/** How the arguments of calls are written. */
export const ArgumentsForm = Schema.Literals(["object", "string"])
export type ArgumentsForm = typeof ArgumentsForm.Type
