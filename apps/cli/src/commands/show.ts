/** `pi-sessions show`: one session as a timeline, or as training samples. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { SampleFormatName } from "@pi-sessions/formats/FormatName"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SampleFlags from "../flags/SampleFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  session: SessionFlags.session,
  depth: Flag.Literals("depth", ["session", "user", "assistant", "tools", "full"]).pipe(
    Flag.withDescription(
      "session: name, compactions, labels; user: also prompts; assistant: also answers; tools: also tool calls and the first lines of results; full: everything. Default: tools."
    ),
    Flag.withDefault("tools")
  ),
  branch: FlagKinds.text(
    "branch",
    "ENTRY",
    "Show the branch that ends at this entry: id or start of an id. Default: the session's leaf."
  ),
  width: OutputFlags.width("Wrap lines"),
  raw: FlagKinds.on(
    "raw",
    "Print the branch's lines as they are in the file, byte for byte (at a terminal, control characters are escaped)"
  ),
  json: OutputFlags.json("Print one JSON document; with --as: the samples, and what became of each entry"),
  ndjson: OutputFlags.ndjson("Print one JSON object per line, the header first; with --as: the dataset's lines"),
  as: Flag.Literals("as", SampleFormatName.literals).pipe(
    Flag.withDescription(
      "Show the training samples of this session in this format, and what became of each entry. The flags below need --as."
    ),
    Flag.optional
  ),
  branches: SampleFlags.branches.pipe(Flag.optional),
  reasoning: SampleFlags.reasoning,
  maxTokens: SampleFlags.maxTokens("Longest sample in tokens"),
  overflow: SampleFlags.overflow.pipe(Flag.optional),
  tokenizer: SampleFlags.tokenizer,
  includeHydrated: SampleFlags.includeHydrated,
  noRedact: SampleFlags.noRedact("Keep secrets, user names, host names and e-mail addresses in the samples")
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const show = Command.make(
  "show",
  flags,
  lazily(() => import("./show/run.ts"))
).pipe(
  Command.withDescription("Show one branch of a session as a timeline, or the training samples of the session"),
  Command.withExamples([
    { command: "pi-sessions show 01a1fb8b", description: "A session by the start of its id" },
    { command: "pi-sessions show session.jsonl --depth user", description: "What was asked" },
    { command: "pi-sessions show session.jsonl --branch 76a8 --depth full", description: "Another branch, everything" },
    {
      command: "pi-sessions show session.jsonl --raw | tail -n 1 | jq .",
      description: "The last entry as Pi wrote it"
    },
    {
      command: "pi-sessions show session.jsonl --as messages",
      description: "What would be learnt from it, what would not, and why"
    }
  ])
)
