/** `pi-sessions extract`: sessions become training data. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { ArgumentsForm } from "@pi-sessions/formats/FormatName"
import { QualityPredicate } from "@pi-sessions/samples/QualityPredicate"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SampleFlags from "../flags/SampleFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

/** Flags that decide what a dataset contains. `merge` takes them too: it must join shards with the same settings. */
export const datasetFlags = {
  rig: SessionFlags.rig,
  role: SessionFlags.role,
  sessions: SessionFlags.sources,
  format: SampleFlags.format(
    "Dataset format. messages: TRL, Unsloth; sharegpt, llama-factory: LLaMA-Factory; tokens: token ids of --tokenizer; pi: redacted sessions; others: the trainer's name"
  ),
  arguments: Flag.Literals("arguments", ArgumentsForm.literals).pipe(
    Flag.withDescription("Write tool arguments as JSON objects or as strings, where the format allows both (axolotl)"),
    Flag.optional
  ),
  out: FlagKinds.text("out", "DIR", "Directory to write the dataset to. Default: ./dataset-RIG."),
  images: FlagKinds.on(
    "images",
    "Write images to files beside the samples (messages, parquet). Images are not redacted."
  ),
  perRole: FlagKinds.on("per-role", "Write separate files, and a configuration in the dataset card, for each role"),
  maxFileMb: FlagKinds.int("max-file-mb", "MB", "Start another file (train-00002.jsonl) at this size"),
  since: SessionFlags.since("sessions begun"),
  until: SessionFlags.until("sessions begun before this time"),
  model: SessionFlags.model("Only answers of this model"),
  refuse: Flag.Literals("refuse", QualityPredicate.literals).pipe(
    Flag.withDescription("Leave out samples for which this holds, as the transcript shows"),
    Flag.atLeast(0)
  ),
  require: Flag.Literals("require", QualityPredicate.literals).pipe(
    Flag.withDescription("Leave out samples for which this does not hold"),
    Flag.atLeast(0)
  ),
  maxErrorRate: Flag.Finite("max-error-rate").pipe(
    Flag.withMetavar("SHARE"),
    Flag.withDescription("With error_rate: allowed share of tool errors without recovery. Default: 0.3."),
    Flag.optional
  ),
  minTurns: Flag.Int("min-turns").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("Leave out samples with fewer turns. Default: 0."),
    Flag.withDefault(0)
  ),
  limit: SessionFlags.limit("sessions, the oldest first"),
  split: FlagKinds.text(
    "split",
    "SHARE|time:DATE",
    "What goes to validation: a share of the families of each role, or sessions begun at this time or later. Default: 0.05."
  ),
  maxTokens: SampleFlags.maxTokens(
    "Longest sample in tokens, with system prompt and tools. Tokens are estimated without --tokenizer."
  ),
  tokenizer: SampleFlags.tokenizer,
  overflow: SampleFlags.overflow.pipe(Flag.withDefault("window")),
  includeNearDuplicates: FlagKinds.on("include-near-duplicates", "Also use sessions that nearly repeat an earlier one"),
  town: FlagKinds.text("town", "DIR", "Root of the town, if paths do not show it"),
  includeDogs: FlagKinds.on("include-dogs", "With --rig deacon: also boot and the dogs"),
  branches: SampleFlags.branches.pipe(Flag.withDefault("active")),
  reasoning: SampleFlags.reasoning,
  threads: FlagKinds.texts(
    "threads",
    "PATH",
    "Thread file, or directory of them, in which pi-mirror recorded system prompts and tools"
  ),
  system: FlagKinds.texts(
    "system",
    "[ROLE=]FILE",
    "System prompt for sessions without one (Pi 0.78 does not write it), of one role or of all"
  ),
  tools: FlagKinds.text(
    "tools",
    "FILE",
    "JSON list of tools (name, description, parameters) for sessions that declare none. Default: the tools that were called; the context is then reduced."
  ),
  noRedact: SampleFlags.noRedact("Keep secrets, user names, host names and e-mail addresses; the dataset card says so"),
  ...SampleFlags.secrets,
  scan: Flag.Literals("scan", ["trufflehog", "gitleaks"]).pipe(
    Flag.withDescription("Check the written files with a scanner on the PATH; fail if it finds anything"),
    Flag.optional
  ),
  maxSteps: FlagKinds.int(
    "max-steps",
    "N",
    "Leave out a session that takes more steps of work. Default: 5,000,000,000 and 500 per byte."
  ),
  maxSessionMb: FlagKinds.int(
    "max-session-mb",
    "MB",
    "Leave out a session that takes more memory. Default: 1,000 and 8 times its file."
  ),
  marks: FlagKinds.text(
    "marks",
    "FILE",
    "Accept and reject marks made in pi-sessions view; rejected answers are not learnt"
  ),
  marksOnly: FlagKinds.on("marks-only", "With --marks: learn accepted answers only"),
  includeHydrated: SampleFlags.includeHydrated,
  json: OutputFlags.json("Print the report as one JSON document")
}

const flags = {
  ...datasetFlags,
  plan: FlagKinds.text(
    "plan",
    "FILE",
    "Write the plan of the dataset (families, duplicates, splits) to this file; with --shard: read it"
  ),
  shard: FlagKinds.text(
    "shard",
    "I/N",
    "With --plan and the flags that it was made with: make part I of N only, for pi-sessions merge"
  ),
  workers: FlagKinds.int("workers", "N", "Threads. Default: one per core, at most 8; one below 64 MB of sessions."),
  sessionTimeout: FlagKinds.int(
    "session-timeout",
    "SECONDS",
    "Leave out a session that takes longer; exit 1. Default: 600 from 16 MB of sessions on, else unlimited."
  ),
  fresh: FlagKinds.on("fresh", "Make everything again, also what an earlier run made of unchanged sessions")
}

export type Input = Command.Command.Config.Infer<typeof flags>

export type DatasetInput = Command.Command.Config.Infer<typeof datasetFlags>

export const extract = Command.make(
  "extract",
  flags,
  lazily(() => import("./extract/run.ts"))
).pipe(
  Command.withDescription("Turn sessions into training data, by rig and role"),
  Command.withExamples([
    { command: "pi-sessions extract --rig deacon", description: "The deacon's sessions, from where Pi keeps them" },
    {
      command: "pi-sessions extract --rig gastown --role polecat --sessions ~/backup --format sharegpt --out data",
      description: "The polecats of one rig, from a backup"
    },
    {
      command:
        "pi-sessions extract --plan plan.json && pi-sessions extract --plan plan.json --shard 1/8 --out shards/1",
      description: "On several machines: plan once, make each shard anywhere, then pi-sessions merge"
    },
    {
      command: "pi-sessions extract --rig gastown --require tests_passed --refuse aborted --refuse repeated_call",
      description: "Work whose tests passed, without aborted and repeated work"
    }
  ])
)
