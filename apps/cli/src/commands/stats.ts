/** `pi-sessions stats`: what sessions hold, and what extract would make of them. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SampleFlags from "../flags/SampleFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  sessions: SessionFlags.sources,
  rig: SessionFlags.rig,
  role: SessionFlags.role,
  since: SessionFlags.since("sessions begun"),
  until: SessionFlags.until("sessions begun before this time"),
  model: SessionFlags.model("Only sessions in which this model answered, and samples of its answers"),
  by: Flag.Literals("by", ["rig", "role", "project", "model", "week", "day"]).pipe(
    Flag.withDescription(
      "Print this table only. project: working directory; week, day: when each entry was written (UTC). Default: rig, role, model and week, if they have more than one row."
    ),
    Flag.optional
  ),
  format: SampleFlags.format("Dataset format to count samples for"),
  branches: SampleFlags.branches.pipe(Flag.withDefault("active")),
  maxTokens: SampleFlags.maxTokens(
    "Count samples that fit into this many tokens, and what extract makes of the others"
  ),
  tokenizer: SampleFlags.tokenizer,
  noRedact: SampleFlags.noRedact("Do not look for secrets and names: faster"),
  width: OutputFlags.width("Draw tables and bars", "80"),
  json: OutputFlags.json(),
  md: FlagKinds.on("md", "Print Markdown, for a dataset card")
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const stats = Command.make(
  "stats",
  flags,
  lazily(() => import("./stats/run.ts"))
).pipe(
  Command.withDescription(
    "Count turns, tools, errors, tokens and cost by rig, role, project, model, week and day, and what extract would make of the sessions"
  ),
  Command.withExamples([
    { command: "pi-sessions stats", description: "All sessions, from where Pi keeps them" },
    { command: "pi-sessions stats --since 7d --by model", description: "This week's cost by model" },
    { command: "pi-sessions stats --by day", description: "Cost of each day" },
    {
      command: "pi-sessions stats --rig gastown --max-tokens 32768",
      description: "How much training data a rig gives, and how many samples fit into a context"
    },
    { command: "pi-sessions stats --sessions ~/backup --md >> data/README.md", description: "For a dataset's card" }
  ])
)
