/** Calls of every command over a folder of sessions, over one session, over a thread and over a store. */
import * as Path from "node:path"
import { FormatName } from "@pi-sessions/formats/FormatName"
import { type SeededRandom } from "@pi-sessions/testing/SeededRandom"
import { fixtures } from "./storeFolder.ts"

export type Args = ReadonlyArray<string>

const MODEL = Path.join(fixtures, "models/chatml-marked")

const tokenizer = (format: string): Args => (format === "tokens" ? ["--tokenizer", MODEL] : [])

const LIST_COLUMNS = "id,modified,started,size,messages,name,cwd,rig,role,format,version,parent,path"

const EXTRACT_FLAGS: ReadonlyArray<Args> = [
  [],
  ["--no-redact"],
  ["--branches", "all"],
  ["--max-tokens", "200"],
  ["--max-tokens", "200", "--overflow", "elide-results"],
  ["--per-role"],
  ["--reasoning", "last-query"],
  ["--include-hydrated", "--split", "0.5"],
  ["--max-error-rate", "0.9", "--min-turns", "1"]
]

/** Each format with each of the flags. */
const EXTRACTS: ReadonlyArray<Args> = FormatName.literals.flatMap((format) =>
  EXTRACT_FLAGS.map((flags) => ["--format", format, ...tokenizer(format), ...flags])
)

/** A random part of the values, in order. */
const some = <A>(random: SeededRandom, values: ReadonlyArray<A>, share: number): ReadonlyArray<A> =>
  values.filter(() => random.chance(share))

/**
 * Calls over a folder, all or a random part of them, in groups of which a later call needs the earlier ones. `out` is an
 * empty folder beside it.
 */
export const overFolder = (
  random: SeededRandom,
  root: string,
  out: string,
  all: boolean
): ReadonlyArray<ReadonlyArray<Args>> => {
  const sessions = ["--sessions", root]
  const extracts = some(random, EXTRACTS, all ? 1 : 3 / EXTRACTS.length).map((flags, at): ReadonlyArray<Args> => {
    const dataset = Path.join(out, `dataset-${at}`)
    return [
      ["extract", ...sessions, "--out", dataset, "--include-near-duplicates", "--workers", "1", ...flags, "--json"],
      ["validate", dataset, ...(random.chance(0.2) ? ["--model", MODEL] : []), "--json"],
      ...(random.chance(0.2) ? [["view", dataset, ...sessions, "--out", Path.join(out, `dataset-${at}.html`)]] : [])
    ]
  })
  const index: ReadonlyArray<Args> = [
    ["index", "refresh", ...sessions, "--json"],
    ["index", "status", ...sessions],
    ["list", ...sessions, "--columns", LIST_COLUMNS]
  ]
  const plan = Path.join(out, "plan.json")
  const shards = [1, 2].map((at) => Path.join(out, `shard-${at}`))
  const planned = [...sessions, "--format", random.pick(["pi", "messages", "parquet"]), "--plan", plan]
  const sharded: ReadonlyArray<Args> = [
    ["extract", ...planned, "--json"],
    ...shards.map((shard, at) => ["extract", ...planned, "--shard", `${at + 1}/2`, "--out", shard, "--workers", "1"]),
    ["merge", ...shards, ...planned, "--out", Path.join(out, "merged"), "--json"]
  ]
  const others: ReadonlyArray<Args> = [
    ["list", ...sessions, "--columns", LIST_COLUMNS],
    ["list", ...sessions, "--ndjson", "--sort", random.pick(["modified", "started", "size", "messages", "name"])],
    ["list", ...sessions, "--others", "--json"],
    ["list", ...sessions, "--name", "w", "--since", "2026-01-01", "--json"],
    ["search", "w", ...sessions, "--scope", "all", "--ndjson"],
    ["search", "[a-z]+w", "--regex", ...sessions, "--scope", "conversations", "-C", "1"],
    ["search", "w", ...sessions, "--tool", "bash", "--count"],
    ["search", "w", ...sessions, "--model", "fake-1", "--since", "2026-01-01"],
    ["stats", ...sessions],
    ["stats", ...sessions, "--md", "--max-tokens", "4000"],
    ["stats", ...sessions, "--by", random.pick(["rig", "role", "model", "week"]), "--json"],
    ["stats", ...sessions, "--branches", "all", "--no-redact", "--format", random.pick(FormatName.literals), "--json"],
    ["doctor", root],
    ["doctor", root, "--json"],
    ["view", root, "--out", Path.join(out, "all.html")]
  ]
  return [...some(random, [...others.map((args) => [args]), index, sharded], all ? 1 : 0.5), ...extracts]
}

const DEPTHS = ["session", "user", "assistant", "tools", "full"]

/** Calls over one session: all, or a random part. */
export const overSession = (random: SeededRandom, file: string, out: string, all: boolean): ReadonlyArray<Args> => {
  const calls: ReadonlyArray<Args> = [
    ["tree", file],
    ["tree", file, "--all", "--ascii", "--width", "60"],
    ["tree", file, "--json"],
    ...DEPTHS.map((depth) => ["show", file, "--depth", depth]),
    ["show", file, "--json"],
    ["show", file, "--ndjson", "--width", "40"],
    ["show", file, "--raw"],
    ...FormatName.literals.map((format) => ["show", file, "--as", format, ...tokenizer(format)]),
    ...FormatName.literals.map((format) => ["show", file, "--as", format, ...tokenizer(format), "--json"]),
    ["show", file, "--as", "messages", "--branches", "all", "--max-tokens", "100", "--no-redact", "--ndjson"],
    ["doctor", file],
    ["doctor", file, "--json"],
    ["stats", "--sessions", file, "--json"],
    ["search", "w", "--sessions", file, "--scope", "all"],
    ["view", file, "--out", Path.join(out, "session.html")],
    ["view", file, "--out", Path.join(out, "open.html"), "--no-redact", "--pictures"],
    ["fork", file, "--out", Path.join(out, "fork.jsonl"), "--json"],
    ["fork", file, "--session-dir", Path.join(out, "forks")]
  ]
  return some(random, calls, all ? 1 : 0.1)
}

/** Calls that write beside a session, in the necessary order: for each session, or for a few. */
export const besideSession = (random: SeededRandom, file: string, out: string, all: boolean): ReadonlyArray<Args> =>
  all || random.chance(0.15)
    ? [
        ["doctor", file, "--fix"],
        ["store", "migrate", file, "--json"],
        ["store", "verify", file],
        ["store", "stat", file, "--json"],
        ["store", "export", file, "--out", Path.join(out, "export.jsonl")]
      ]
    : []

/** Calls over a thread. */
export const overThread = (random: SeededRandom, thread: string, out: string): ReadonlyArray<Args> => [
  ["hydrate", "--thread", thread, "--out", Path.join(out, "auto.jsonl"), "--cwd", out],
  ...some(
    random,
    [
      ...["pairs", "flatten", "omit"].map((tools) => ["--mode", "semantic", "--tools", tools]),
      ["--mode", "lossless", "--keep-cwd"]
    ],
    0.5
  ).map((flags, at) => ["hydrate", "--thread", thread, ...flags, "--out", Path.join(out, `${at}.jsonl`), "--json"]),
  ["show", Path.join(out, "auto.jsonl"), "--depth", "full"],
  ["show", Path.join(out, "auto.jsonl"), "--as", "messages", "--include-hydrated"]
]

/** Calls over a damaged container; the last ones change it. */
export const overStore = (random: SeededRandom, root: string, container: string, out: string): ReadonlyArray<Args> => [
  ...some(
    random,
    [
      ["store", "verify", container, "--json"],
      ["store", "verify", root],
      ["store", "stat", container],
      ["store", "stat", root, "--json"],
      ["store", "export", container],
      ["store", "export", container, "--salvage", "--out", Path.join(out, "salvaged.jsonl")],
      ["list", "--sessions", root, "--columns", LIST_COLUMNS],
      ["show", container, "--depth", "full"],
      ["tree", container, "--all"],
      ["search", "w", "--sessions", root, "--scope", "all"],
      ["stats", "--sessions", root],
      ["doctor", root],
      ["index", "refresh", "--sessions", root],
      ["extract", "--sessions", root, "--out", Path.join(out, "dataset"), "--workers", "1"],
      ["view", root, "--out", Path.join(out, "all.html")]
    ],
    0.5
  ),
  ...some(
    random,
    [
      ["store", "migrate", root],
      ["store", "checkpoint", root],
      ["store", "activate", container],
      ["store", "rollback", root]
    ],
    0.5
  )
]
