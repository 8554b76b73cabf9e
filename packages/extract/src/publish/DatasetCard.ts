/**
 * The card of a dataset, as Hugging Face reads it: YAML with the files of each split, then for people what is in it, what
 * was left out, and what the trainer has to be told.
 */
import { type ExtractReport } from "../ExtractReport.ts"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { nameOf } from "@pi-sessions/core/FileName"

export const CARD_FILE = "README.md"

/** A card without this line is somebody's own, and stays. */
export const MARK = "<!-- Written by pi-sessions extract. Remove this line to keep a card of your own. -->"

/** What a trainer does not find out by itself. */
const TRAINER: { readonly [Name in FormatName]: string } = {
  messages:
    "TRL and Unsloth: set `assistant_only_loss=True`. Without it TRL trains on user and tool messages too, in `messages` and in the whole of a `completion`.",
  axolotl: "Axolotl: see `axolotl.yml`. `train` on each message tells what is trained on.",
  sharegpt: "LLaMA-Factory: `formatting: sharegpt`; it trains on every `gpt` and `function_call`.",
  "llama-factory": "LLaMA-Factory: `dataset_info.json` is ready to be pointed at; it trains on every answer.",
  "ms-swift": "ms-swift: `loss` on each message tells what is trained on.",
  openai: "OpenAI and services like it: `weight` tells what is trained on. Ten lines at least.",
  mistral: "Mistral: `weight` tells what is trained on.",
  dpo: "TRL: `DPOTrainer`.",
  tokens:
    "Tokens of one model, for trainers that take them as they are (Axolotl: give no `type`): `labels` are -100 where nothing is learnt.",
  pi: "Sessions of Pi, a file each: Pi opens them, and the Hub shows them as traces. Nothing in them says what to train on.",
  parquet:
    "TRL and Unsloth: set `assistant_only_loss=True`, and load it with `load_dataset(...).with_transform(trl.trainer.utils.remove_none_values)`, since columns have null where a message has no such member.",
  "lora-forge": "lora_forge: its own files; every `gpt` is trained on."
}

const SIZES = [
  [1e3, "n<1K"],
  [1e4, "1K<n<10K"],
  [1e5, "10K<n<100K"],
  [1e6, "100K<n<1M"]
] as const

const sizeOf = (samples: number): string => SIZES.find(([below]) => samples < below)?.[1] ?? "1M<n<10M"

/** Sessions as they are, a file each: the Hub shows them as traces of an agent. */
const PI_CONFIGS = [
  "- config_name: default",
  "  default: true",
  "  data_files:",
  "  - split: train",
  "    path: train/*.jsonl",
  "  - split: validation",
  "    path: validation/*.jsonl"
]

type OutputFile = ExtractReport["outputs"]["files"][number]

/**
 * A configuration for each shape of lines, since readers infer the columns of one from its first rows; and for each role
 * that has files of its own.
 */
const configs = ({ format, outputs }: ExtractReport): ReadonlyArray<string> => {
  if (format === "pi") return PI_CONFIGS
  const filled = outputs.files.filter(({ samples }) => samples > 0)
  const shapes = [...new Set(filled.map(({ file }) => file))].sort((a, b) =>
    a === "train" ? -1 : b === "train" ? 1 : 0
  )
  const roles = [...new Set(filled.flatMap(({ role }) => role ?? []))].sort()
  const all = shapes.map((shape) => {
    const name = shape === "train" ? "default" : shape
    return { name, files: filled.filter(({ file }) => file === shape) }
  })
  const byRole = roles.flatMap((role) =>
    shapes.map((shape) => {
      const name = shape === "train" ? role : `${role}-${shape}`
      return { name, files: filled.filter((file) => file.file === shape && file.role === role) }
    })
  )
  return [...all, ...byRole]
    .filter(({ files }) => files.length > 0)
    .flatMap(({ files, name }, at) => [
      `- config_name: ${name}`,
      ...(at === 0 ? ["  default: true"] : []),
      "  data_files:",
      ...dataFiles(files)
    ])
}

/** A split may be named once only. */
const dataFiles = (files: ReadonlyArray<OutputFile>): ReadonlyArray<string> => {
  const splits = new Map<string, Array<string>>()
  for (const { path, split } of files) {
    const names = splits.get(split)
    if (names === undefined) splits.set(split, [nameOf(path)])
    else names.push(nameOf(path))
  }
  return [...splits].flatMap(([split, [first, ...others]]) => [
    `  - split: ${split}`,
    ...(others.length === 0
      ? [`    path: ${first}`]
      : ["    path:", ...[first, ...others].map((name) => `    - ${name}`)])
  ])
}

const table = (head: readonly [string, string], counts: { readonly [name: string]: number }): ReadonlyArray<string> => {
  const rows = Object.entries(counts)
  return rows.length === 0
    ? []
    : [
        `| ${head[0]} | ${head[1]} |`,
        "| ---: | --- |",
        ...rows.map(([name, count]) => `| ${count} | ${name.replaceAll("_", " ")} |`),
        ""
      ]
}

export const make = (report: ExtractReport): string => {
  const { families, format, is_redacted: isRedacted, samples, sessions, total } = report
  const splits = new Map<string, number>()
  for (const { samples, split } of report.outputs.files) splits.set(split, (splits.get(split) ?? 0) + samples)
  const images = (report.outputs.loose ?? []).filter(({ path }) => path.startsWith("images/")).length
  return `${[
    "---",
    "pretty_name: Sessions of the Pi coding agent",
    "task_categories:",
    "- text-generation",
    "tags:",
    "- agent-traces",
    ...(format === "pi" ? ["- format:agent-traces"] : []),
    "- pi",
    "- sft",
    "- tool-use",
    ...(isRedacted ? [] : ["- not-redacted"]),
    "size_categories:",
    `- ${sizeOf(samples.kept)}`,
    "configs:",
    ...configs(report),
    "---",
    "",
    "# Sessions of the Pi coding agent",
    "",
    MARK,
    "",
    isRedacted
      ? "Secrets, names and home directories were taken out by rules; look before you share it all the same."
      : "**Not redacted**: keys, names and paths that stand in the sessions stand here.",
    "",
    `Format \`${format}\`. ${TRAINER[format]}`,
    "",
    `${samples.kept} samples with ${total.targets} answers to train on, of ${sessions.kept} sessions in ${families.found} families (the largest has ${families.largest}). The context of ${total.exact} samples is exact: the messages that Pi handed to its provider layer, with the tools that were on offer.`,
    "",
    ...table(["samples", "where their tools come from"], total.tools ?? {}),
    ...[...splits].map(([split, count]) => `- ${split}: ${count} samples`),
    "",
    ...(images === 0 ? [] : [`${images} images in \`images/\`: what can be read in them was not redacted.`, ""]),
    ...(isRedacted ? ["## What was taken out", "", ...table(["places", "rule"], total.redacted)] : []),
    "## What was left out",
    "",
    `Of ${sessions.found} sessions:`,
    "",
    ...table(["sessions", "why"], sessions.dropped),
    `Of ${samples.found} samples:`,
    "",
    ...table(["samples", "why"], samples.dropped),
    "Of the sessions that were kept:",
    "",
    ...table(["parts", "what"], total.dropped),
    "`report.json` has the rows, `manifest.json` the hash of every session, of the settings and of every file."
  ].join("\n")}\n`
}
