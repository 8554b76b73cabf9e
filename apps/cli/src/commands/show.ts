/** `pi-sessions show`: one session as a timeline. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { FormatName } from "@pi-sessions/formats/FormatName"

/** A session that stays one is no sample. */
const LINES = FormatName.literals.filter((name) => name !== "pi")

export const show = Command.make(
  "show",
  {
    session: Argument.String("SESSION").pipe(
      Argument.withDescription("Path, id or beginning of an id (default, at a terminal: choose from a list)"),
      Argument.optional
    ),
    depth: Flag.Literals("depth", ["session", "user", "assistant", "tools", "full"]).pipe(
      Flag.withDescription(
        "session: name, compactions, labels; user: what the user said too; assistant: the answers too; tools: tool calls and the first lines of results too; full: everything"
      ),
      Flag.withDefault("tools")
    ),
    branch: Flag.String("branch").pipe(
      Flag.withMetavar("ENTRY"),
      Flag.withDescription(
        "The branch that ends at this entry, by id or beginning of one (default: the session's leaf)"
      ),
      Flag.optional
    ),
    width: Flag.Int("width").pipe(
      Flag.withMetavar("COLUMNS"),
      Flag.withDescription(
        "Break lines at so many columns, 20 at the least (default: as wide as the terminal; not at all in a pipe)"
      ),
      Flag.optional
    ),
    raw: Flag.Boolean("raw").pipe(
      Flag.withDescription(
        "The lines of the branch's entries as they are in the file, byte for byte (at a terminal with control characters escaped)"
      ),
      Flag.withDefault(false)
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print one JSON document; with --as: the samples, and what became of each entry"),
      Flag.withDefault(false)
    ),
    ndjson: Flag.Boolean("ndjson").pipe(
      Flag.withDescription("Print one JSON object a line, the header first; with --as: the very lines of the dataset"),
      Flag.withDefault(false)
    ),
    as: Flag.Literals("as", LINES).pipe(
      Flag.withDescription(
        "The training samples that this session becomes, in this format of extract, and what became of each entry, beside the timeline"
      ),
      Flag.optional
    ),
    branches: Flag.Literals("branches", ["active", "all"]).pipe(
      Flag.withDescription("With --as, as in extract: samples of the active branch (default), or of all"),
      Flag.optional
    ),
    reasoning: Flag.Literals("reasoning", ["all", "last-query", "none"]).pipe(
      Flag.withDescription("With --as, as in extract: what becomes of the thinking"),
      Flag.optional
    ),
    maxTokens: Flag.Int("max-tokens").pipe(
      Flag.withDescription("With --as, as in extract: samples of at most so many tokens"),
      Flag.optional
    ),
    overflow: Flag.Literals("overflow", ["elide-results", "window", "drop"]).pipe(
      Flag.withDescription("With --as, as in extract: what becomes of longer ones (default: window)"),
      Flag.optional
    ),
    tokenizer: Flag.String("tokenizer").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription("With --as, as in extract: a local model, for tokens, and to count --max-tokens with"),
      Flag.optional
    ),
    includeHydrated: Flag.Boolean("include-hydrated").pipe(
      Flag.withDescription("With --as, as in extract: of a hydrated session too"),
      Flag.withDefault(false)
    ),
    noRedact: Flag.Boolean("no-redact").pipe(
      Flag.withDescription("With --as, as in extract: leave secrets and names in the samples"),
      Flag.withDefault(false)
    )
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./show/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription(
    "Show a session as a timeline: one branch of it, as deep as you like; or as the training samples that it becomes"
  ),
  Command.withExamples([
    { command: "pi-sessions show 01a1fb8b", description: "A session by the beginning of its id" },
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
