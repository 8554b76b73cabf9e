/**
 * The names of the formats. A module of its own, so that a command line knows the names without loading the formats.
 */
import * as Schema from "effect/Schema"

/** Formats of samples. */
export const SampleFormatName = Schema.Literals([
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
  "parquet"
])

/** All formats. In `pi`, a session stays a session. */
export const FormatName = Schema.Literals([...SampleFormatName.literals, "pi"])
export type FormatName = typeof FormatName.Type

/** How the arguments of tool calls are written. */
export const ArgumentsForm = Schema.Literals(["object", "string"])
export type ArgumentsForm = typeof ArgumentsForm.Type
