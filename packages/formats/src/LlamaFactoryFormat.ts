/**
 * Format `llama-factory`: the lines of `sharegpt`, with a `dataset_info.json` in which LLaMA-Factory (ff6d4d1, August
 * 2026) looks up the layout of each file. Pass the dataset's directory as `--dataset_dir`, and a file's name without
 * its extension as `--dataset`.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type DataFile, type Dataset, InvalidDataset, type SampleFormat, type Sidecar } from "./SampleFormat.ts"
import { ShareGptFormat, type ShareGptSample } from "./ShareGptFormat.ts"
import * as JsonText from "@pi-sessions/core/JsonText"

const INFO_FILE = "dataset_info.json"

const DatasetEntry = Schema.Struct({
  file_name: Schema.String,
  formatting: Schema.Literal("sharegpt"),
  columns: Schema.Struct({
    messages: Schema.Literal("conversations"),
    system: Schema.Literal("system"),
    tools: Schema.Literal("tools")
  })
})
type DatasetEntry = typeof DatasetEntry.Type

const decodeInfo = Schema.decodeUnknownResult(Schema.Record(Schema.String, DatasetEntry))

const entryOf = ({ name }: DataFile): readonly [string, DatasetEntry] => [
  name.replace(/\.jsonl$/u, ""),
  {
    file_name: name,
    formatting: "sharegpt",
    columns: { messages: "conversations", system: "system", tools: "tools" }
  }
]

const sidecars = (files: ReadonlyArray<DataFile>): ReadonlyArray<Sidecar> => [
  { name: INFO_FILE, text: `${JSON.stringify(Object.fromEntries(files.map(entryOf)), undefined, 2)}\n` }
]

const validateDataset = ({ files, sidecars }: Dataset): Result.Result<ReadonlyArray<string>, InvalidDataset> => {
  const broken = (issue: string) => Result.fail(new InvalidDataset({ format: "llama-factory", file: INFO_FILE, issue }))
  const text = sidecars.find(({ name }) => name === INFO_FILE)?.text
  if (text === undefined) return broken("it is not there")
  const info = decodeInfo(JsonText.parse(text))
  if (Result.isFailure(info)) return broken("not a valid dataset_info.json")
  const named = new Set(Object.values(info.success).map((entry) => entry.file_name))
  const missing = files.find(({ name }) => !named.has(name))
  return missing === undefined ? Result.succeed([]) : broken(`no entry for ${missing.name}`)
}

export const LlamaFactoryFormat: SampleFormat<ShareGptSample> = {
  ...ShareGptFormat,
  name: "llama-factory",
  trainer: "LLaMA-Factory: `dataset_info.json` is ready to be pointed at; it trains on every answer.",
  sidecars,
  validateDataset
}
