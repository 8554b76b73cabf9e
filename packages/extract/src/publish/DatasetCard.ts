/**
 * The card of a dataset (`README.md`) in the form of Hugging Face: YAML with the files of each split, then text about what
 * is in the dataset, what was left out, and how to configure the trainer.
 */
import { nameOf } from "@pi-sessions/core/FileName"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type ExtractReport } from "../ExtractReport.ts"

export const CARD_FILE = "README.md"

/** A card without this line was written by the user, and is not replaced. */
export const MARK = "<!-- Written by pi-sessions extract. Remove this line to keep a card of your own. -->"

const SIZES = [
  [1e3, "n<1K"],
  [1e4, "1K<n<10K"],
  [1e5, "10K<n<100K"],
  [1e6, "100K<n<1M"]
] as const

const sizeOf = (samples: number): string => SIZES.find(([below]) => samples < below)?.[1] ?? "1M<n<10M"

/** Of a dataset of whole sessions: a folder for each split. */
const FOLDER_CONFIGS = [
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
 * A configuration for each shape of lines, because readers infer columns from the first rows, and for each role with files
 * of its own.
 */
const configs = ({ format, outputs }: ExtractReport): ReadonlyArray<string> => {
  if (FORMATS[format].wholeSession !== undefined) return FOLDER_CONFIGS
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

/** The files of each split. The Hub allows a split only once. */
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
  const { cardTags = [], trainer } = FORMATS[format]
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
    ...cardTags.map((tag) => `- ${tag}`),
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
    `Format \`${format}\`. ${trainer}`,
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
