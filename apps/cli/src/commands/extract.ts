/** `pi-sessions extract`: sessions become training data. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { ArgumentsForm, FormatName } from "@pi-sessions/formats/FormatName"
import { QualityPredicate } from "@pi-sessions/samples/QualityPredicate"
import * as GasTown from "@pi-sessions/core/GasTown"

/** What `merge` takes too: shards must be joined with the settings that they were made with. */
export const flags = {
  rig: Flag.String("rig").pipe(
    Flag.withMetavar("RIG"),
    Flag.withDescription(
      "Only sessions of this rig, town-level agent or address: gastown, deacon, gastown/crew/max, gastown/**"
    ),
    Flag.atLeast(0)
  ),
  role: Flag.Literals("role", GasTown.Role.literals).pipe(
    Flag.withDescription("Only sessions of this role"),
    Flag.atLeast(0)
  ),
  sessions: Flag.String("sessions").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription(
      "Session file, transcript of Claude Code, or directory to search to any depth (default: where Pi keeps its sessions)"
    ),
    Flag.atLeast(0)
  ),
  format: Flag.Literals("format", FormatName.literals).pipe(
    Flag.withDescription(
      "messages: TRL and Unsloth; sharegpt, llama-factory: LLaMA-Factory; tokens: of --tokenizer; the others are called as their trainers"
    ),
    Flag.withDefault("messages")
  ),
  arguments: Flag.Literals("arguments", ArgumentsForm.literals).pipe(
    Flag.withDescription("Arguments of calls as JSON objects or as text, where the format leaves the choice (axolotl)"),
    Flag.optional
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Directory to write train.jsonl and report.json to (default: ./dataset-RIG)"),
    Flag.optional
  ),
  images: Flag.Boolean("images").pipe(
    Flag.withDescription(
      "Write images to files beside the samples, which name them (messages, parquet); nobody redacts what is in them"
    ),
    Flag.withDefault(false)
  ),
  perRole: Flag.Boolean("per-role").pipe(
    Flag.withDescription("Files for each role, and a configuration of the card for each"),
    Flag.withDefault(false)
  ),
  maxFileMb: Flag.Int("max-file-mb").pipe(
    Flag.withDescription("Begin another file (train-00002.jsonl) when one has so many megabytes"),
    Flag.optional
  ),
  since: Flag.String("since").pipe(
    Flag.withMetavar("DATE"),
    Flag.withDescription("Only sessions begun at this time or later (ISO 8601, such as 2026-02-01)"),
    Flag.optional
  ),
  until: Flag.String("until").pipe(
    Flag.withMetavar("DATE"),
    Flag.withDescription("Only sessions begun before this time"),
    Flag.optional
  ),
  model: Flag.String("model").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Only what this model answered"),
    Flag.atLeast(0)
  ),
  refuse: Flag.Literals("refuse", QualityPredicate.literals).pipe(
    Flag.withDescription("Leave out what this holds of, by what the transcript shows"),
    Flag.atLeast(0)
  ),
  require: Flag.Literals("require", QualityPredicate.literals).pipe(
    Flag.withDescription("Leave out what this does not hold of"),
    Flag.atLeast(0)
  ),
  maxErrorRate: Flag.Finite("max-error-rate").pipe(
    Flag.withMetavar("SHARE"),
    Flag.withDescription(
      "With error_rate: the share of tool results that may be errors which the agent did not recover from (default: 0.3)"
    ),
    Flag.optional
  ),
  minTurns: Flag.Int("min-turns").pipe(Flag.withDescription("Leave out samples of fewer turns"), Flag.withDefault(0)),
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("Only the first so many sessions, in the order in which they were begun"),
    Flag.optional
  ),
  split: Flag.String("split").pipe(
    Flag.withMetavar("SHARE|time:DATE"),
    Flag.withDescription(
      "What goes to validation: a share of the families of each role, or sessions begun at a time or later (default: 0.05)"
    ),
    Flag.optional
  ),
  maxTokens: Flag.Int("max-tokens").pipe(
    Flag.withDescription(
      "Samples of at most so many tokens (estimated, or those of --tokenizer), system prompt and tools counted in"
    ),
    Flag.optional
  ),
  tokenizer: Flag.String("tokenizer").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription(
      "A local model (tokenizer.json, tokenizer_config.json, chat template): what --format tokens is made with, and --max-tokens counted with"
    ),
    Flag.optional
  ),
  overflow: Flag.Literals("overflow", ["elide-results", "window", "drop"]).pipe(
    Flag.withDescription(
      "What becomes of longer ones: the oldest tool results give way, they are cut into several, or they are left out"
    ),
    Flag.withDefault("window")
  ),
  includeNearDuplicates: Flag.Boolean("include-near-duplicates").pipe(
    Flag.withDescription("Take sessions that say nearly what an earlier one says too"),
    Flag.withDefault(false)
  ),
  town: Flag.String("town").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Root of the town, where paths do not show it"),
    Flag.optional
  ),
  includeDogs: Flag.Boolean("include-dogs").pipe(
    Flag.withDescription("With --rig deacon: boot and the dogs too"),
    Flag.withDefault(false)
  ),
  branches: Flag.Literals("branches", ["active", "all"]).pipe(
    Flag.withDescription("The active branch of each session, or all of them"),
    Flag.withDefault("active")
  ),
  reasoning: Flag.Literals("reasoning", ["all", "last-query", "none"]).pipe(
    Flag.withDescription(
      "The model's thinking: all of it, that after the last user turn (as Qwen3's template), or none (default: all; axolotl: last-query)"
    ),
    Flag.optional
  ),
  threads: Flag.String("threads").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription("Thread file, or directory of them, in which pi-mirror told system prompts and tools"),
    Flag.atLeast(0)
  ),
  system: Flag.String("system").pipe(
    Flag.withMetavar("[ROLE=]FILE"),
    Flag.withDescription(
      "The system prompt, for sessions that hold none (Pi 0.78 does not write it); for a role, or for all"
    ),
    Flag.atLeast(0)
  ),
  tools: Flag.String("tools").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(
      "A JSON list of tools (name, description, parameters), for sessions that declare none; without it their samples have the tools that were called, and a reduced context"
    ),
    Flag.optional
  ),
  noRedact: Flag.Boolean("no-redact").pipe(
    Flag.withDescription("Leave secrets and names of people in; the dataset's card says so"),
    Flag.withDefault(false)
  ),
  secret: Flag.String("secret").pipe(
    Flag.withMetavar("VALUE"),
    Flag.withDescription(
      "A value to take out whatever it looks like, beside those of the environment's keys and tokens"
    ),
    Flag.atLeast(0)
  ),
  secretsFrom: Flag.String("secrets-from").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("A .env file, a JSON file or a list of lines with such values"),
    Flag.atLeast(0)
  ),
  redactionKey: Flag.String("redaction-key").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(
      "The key of the placeholders' numbers, made when it is missing (default: in ~/.local/state/pi-sessions)"
    ),
    Flag.optional
  ),
  scan: Flag.Literals("scan", ["trufflehog", "gitleaks"]).pipe(
    Flag.withDescription("Have a scanner on the PATH look at what was written; fail when it finds anything, or fails"),
    Flag.optional
  ),
  plan: Flag.String("plan").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("Only plan the dataset (families, duplicates, splits), and write the plan to a file"),
    Flag.optional
  ),
  shard: Flag.String("shard").pipe(
    Flag.withMetavar("I/N"),
    Flag.withDescription("With --plan and all flags that it was made with: make only part I of N, to be merged"),
    Flag.optional
  ),
  workers: Flag.Int("workers").pipe(
    Flag.withDescription("Threads to work in (default: one for each core, up to 8, where there are more than 64 MB)"),
    Flag.optional
  ),
  maxSteps: Flag.Int("max-steps").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription(
      "Leave a session out when it takes more steps of work (default: 5,000,000,000, and 500 for each byte of its file)"
    ),
    Flag.optional
  ),
  maxSessionMb: Flag.Int("max-session-mb").pipe(
    Flag.withMetavar("MB"),
    Flag.withDescription(
      "Leave a session out when it and what is made of it take more memory (default: 1,000 MB, and 8 times its file)"
    ),
    Flag.optional
  ),
  sessionTimeout: Flag.Int("session-timeout").pipe(
    Flag.withMetavar("SECONDS"),
    Flag.withDescription(
      "Stop work on a session after so long: the others are extracted, exit status 1 (default: 600; less than 16 MB of sessions are not timed unless this is given)"
    ),
    Flag.optional
  ),
  fresh: Flag.Boolean("fresh").pipe(
    Flag.withDescription("Make everything anew, also what an earlier run to this directory made of unchanged sessions"),
    Flag.withDefault(false)
  ),
  marks: Flag.String("marks").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(
      "Obey the accept and reject marks that were set in pi-sessions view: what is rejected is not learnt from"
    ),
    Flag.optional
  ),
  marksOnly: Flag.Boolean("marks-only").pipe(
    Flag.withDescription("With --marks: learn from what was accepted alone"),
    Flag.withDefault(false)
  ),
  includeHydrated: Flag.Boolean("include-hydrated").pipe(
    Flag.withDescription("Take hydrated sessions too, although no model wrote their text in that form"),
    Flag.withDefault(false)
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the report as one JSON document"),
    Flag.withDefault(false)
  )
}

export type Input = Command.Command.Config.Infer<typeof flags>

/** What decides what is in a dataset: `merge` asks for it too. */
export type SameInput = Omit<Input, "plan" | "shard" | "workers" | "sessionTimeout" | "fresh">

export const extract = Command.make("extract", flags, (input) =>
  Effect.flatMap(
    Effect.promise(() => import("./extract/run.ts")),
    (command) => command.run(input)
  )
).pipe(
  Command.withDescription("Turn sessions into training data, by rig and role"),
  Command.withExamples([
    { command: "pi-sessions extract --rig deacon", description: "Sessions of the deacon, from where Pi keeps them" },
    {
      command: "pi-sessions extract --rig gastown --role polecat --sessions ~/backup --format sharegpt --out data",
      description: "Polecats of one rig from a backup"
    },
    {
      command:
        "pi-sessions extract --plan plan.json && pi-sessions extract --plan plan.json --shard 1/8 --out shards/1",
      description: "On several machines: plan once, make each shard anywhere, then pi-sessions merge"
    },
    {
      command: "pi-sessions extract --rig gastown --require tests_passed --refuse aborted --refuse repeated_call",
      description: "Work whose tests passed, without what was aborted or went round in circles"
    }
  ])
)
