/** Output that programs read stays the same, byte for byte: every command on the fixtures, every dataset format. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import { golden, isRecording } from "./support/golden.ts"
import { type RecordedCall, record, viewAnswers, workingFolder } from "./support/machineOutput.ts"

const MODEL = "fixtures/models/chatml-marked"
const KEY = ["--redaction-key", "redaction.key"]
const ALL = ["--sessions", "fixtures"]
const CHAT = ["messages", "axolotl", "sharegpt", "llama-factory", "ms-swift", "openai", "mistral", "lora-forge", "dpo"]
const SESSIONS = ["sessions/project/branches.jsonl", "damaged/glued-line.jsonl", "unsound/content-is-text.jsonl"]

const calling = (line: string, ...writes: ReadonlyArray<string>): RecordedCall => ({ args: line.split(" "), writes })

const ofSession = (session: string): ReadonlyArray<RecordedCall> => [
  calling(`tree ${session} --json`),
  calling(`show ${session} --json --depth full`),
  calling(`show ${session} --ndjson --depth tools`),
  calling(`show ${session} --raw`),
  ...CHAT.map((format) => calling(`show ${session} --as ${format} --json`)),
  calling(`fork ${session} --out fork-${Path.basename(session)}`, `fork-${Path.basename(session)}`)
]

/** Formats whose shards are compared in each run; a campaign compares the shards of all formats. */
const SHARDED: ReadonlySet<string | undefined> = new Set(["messages", "parquet", "pi"])

const ofDataset = (flags: ReadonlyArray<string>): ReadonlyArray<RecordedCall> => {
  const made = [...ALL, ...KEY, "--branches", "all", "--format", ...flags]
  const planned = [...made, "--plan", "plan.json"]
  const whole = [
    { args: ["extract", ...made, "--out", "out", "--json"], writes: ["out"] },
    calling("validate out --json")
  ]
  if (!Dose.isCampaign() && !isRecording && !SHARDED.has(flags[0])) return whole
  return [
    ...whole,
    { args: ["extract", ...planned], writes: ["plan.json"] },
    { args: ["extract", ...planned, "--shard", "1/2", "--out", "shards/1"], writes: ["shards/1"] },
    { args: ["extract", ...planned, "--shard", "2/2", "--out", "shards/2"], writes: ["shards/2"] },
    { args: ["merge", ...planned, "--out", "merged", "--json", "shards/1", "shards/2"], writes: ["merged"] }
  ]
}

/** Each group starts with the fixtures as they are. */
const groups: { readonly [name: string]: ReadonlyArray<RecordedCall> } = {
  reading: [
    calling("list --sessions fixtures --json"),
    calling("list --sessions fixtures --ndjson"),
    calling("list --sessions fixtures --others --json"),
    calling("search --sessions fixtures --json the"),
    calling("search --sessions fixtures --ndjson the"),
    calling("doctor --json fixtures"),
    calling("stats --sessions fixtures --json"),
    calling(`stats --sessions fixtures --max-tokens 500 --tokenizer ${MODEL} --json`),
    ...SESSIONS.flatMap((session) => ofSession(`fixtures/${session}`))
  ],
  writing: [
    calling("hydrate --thread fixtures/threads/rename-module.jsonl --cwd fixtures --out h.jsonl --json", "h.jsonl"),
    calling("hydrate --thread fixtures/threads/raw-lines.jsonl --cwd fixtures --out r.jsonl --json", "r.jsonl"),
    calling("doctor --json --fix fixtures/damaged", "fixtures/damaged"),
    calling("doctor --json --fix fixtures/unsound", "fixtures/unsound")
  ],
  store: [
    calling("store migrate fixtures/sessions --json"),
    calling("store verify fixtures/sessions --json"),
    calling("store stat fixtures/sessions --json"),
    calling("store rollback fixtures/sessions/project/01a1fb8b-2f4a-753e-9222-6a16c79b2aa7.v2 --json")
  ],
  ...Object.fromEntries(
    [...CHAT.map((format) => [format]), ["parquet", "--images"], ["pi"], ["tokens", "--tokenizer", MODEL]].map(
      ([format = "", ...more]) => [`dataset ${format}`, ofDataset([format, ...more])]
    )
  )
}

/** The recorded text of each call. */
const callsOf = (recorded: string): ReadonlyArray<string> => recorded.split(/\n(?=\$ )/u)

describe("output for programs", () => {
  it.live.each(Object.entries(groups))("is what was recorded: %s", ([name, calls]) =>
    Effect.gen(function* () {
      const folder = yield* workingFolder
      const texts = yield* Effect.forEach(calls, (one) => record(one, folder))
      const text = texts.join("\n")
      const recorded = golden(`machine/${name.replaceAll(" ", "-")}.txt`, text)
      assert.strictEqual(text, callsOf(recorded).slice(0, calls.length).join("\n"))
    })
  )

  it.live("is what was recorded: the answers of the viewer", () =>
    Effect.gen(function* () {
      const folder = yield* workingFolder
      const page = Path.join(folder, "page.html")
      yield* record({ args: ["view", "fixtures", "--out", page, ...KEY] }, folder)
      const text = viewAnswers(Fs.readFileSync(page, "utf8"), folder)
      assert.strictEqual(text, golden("machine/view.txt", text))
    })
  )
})
