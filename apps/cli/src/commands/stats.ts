/** `pi-sessions stats`: what sessions hold, and what extract would make of them. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GasTown from "@pi-sessions/core/GasTown"
import { FormatName } from "@pi-sessions/formats/FormatName"

const on = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

export const stats = Command.make(
  "stats",
  {
    sessions: Flag.String("sessions").pipe(
      Flag.withMetavar("PATH"),
      Flag.withDescription("Session file, or directory to search to any depth (default: where Pi keeps its sessions)"),
      Flag.atLeast(0)
    ),
    rig: Flag.String("rig").pipe(
      Flag.withMetavar("RIG"),
      Flag.withDescription("Only sessions of this rig, town-level agent or address (as in extract)"),
      Flag.atLeast(0)
    ),
    role: Flag.Literals("role", GasTown.Role.literals).pipe(
      Flag.withDescription("Only sessions of this role"),
      Flag.atLeast(0)
    ),
    since: Flag.String("since").pipe(
      Flag.withMetavar("DATE"),
      Flag.withDescription("Only sessions begun at this time or later: 2026-02-25, 2026-02-25T08:30, 7d, 12h"),
      Flag.optional
    ),
    until: Flag.String("until").pipe(
      Flag.withMetavar("DATE"),
      Flag.withDescription("Only sessions begun before this time (a day counts whole)"),
      Flag.optional
    ),
    model: Flag.String("model").pipe(
      Flag.withMetavar("ID"),
      Flag.withDescription("Only sessions in which this model answered, and samples that it answered"),
      Flag.atLeast(0)
    ),
    by: Flag.Literals("by", ["rig", "role", "project", "model", "week", "day"]).pipe(
      Flag.withDescription(
        "Only this table: by rig, role, project (working directory) or model, or by the ISO week or day in which each entry was written (UTC). Default: rig, role, model and week, each if it has more than one row"
      ),
      Flag.optional
    ),
    format: Flag.Literals("format", FormatName.literals).pipe(
      Flag.withDescription("The format of extract that samples are counted for"),
      Flag.withDefault("messages")
    ),
    branches: Flag.Literals("branches", ["active", "all"]).pipe(
      Flag.withDescription("Samples of the active branch of each session, or of all of them (as in extract)"),
      Flag.withDefault("active")
    ),
    maxTokens: Flag.Int("max-tokens").pipe(
      Flag.withDescription(
        "How many samples fit into so many tokens (estimated), and what extract makes of the others"
      ),
      Flag.optional
    ),
    tokenizer: Flag.String("tokenizer").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription("A local model, whose tokens are counted instead of an estimate (as in extract)"),
      Flag.optional
    ),
    noRedact: on("no-redact", "Do not look for secrets and names: faster, and none are counted"),
    width: Flag.Int("width").pipe(
      Flag.withMetavar("COLUMNS"),
      Flag.withDescription(
        "Draw into so many columns, 20 at the least (default: as wide as the terminal; 80 in a pipe)"
      ),
      Flag.optional
    ),
    json: on("json", "Print one JSON document"),
    md: on("md", "Print Markdown, for the card of a dataset")
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./stats/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription(
    "Count what sessions hold (turns, tools, errors, tokens, cost) by rig, role, project, model, week and day, and what extract would make of them"
  ),
  Command.withExamples([
    { command: "pi-sessions stats", description: "All sessions, from where Pi keeps them" },
    { command: "pi-sessions stats --since 7d --by model", description: "What this week's sessions cost, by model" },
    { command: "pi-sessions stats --by day", description: "What was spent on each day" },
    {
      command: "pi-sessions stats --rig gastown --max-tokens 32768",
      description: "How much training data a rig gives, and how many samples fit into a context"
    },
    { command: "pi-sessions stats --sessions ~/backup --md >> data/README.md", description: "For a dataset's card" }
  ])
)
