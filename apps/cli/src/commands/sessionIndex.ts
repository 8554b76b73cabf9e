/** `pi-sessions index`: the index of a directory of sessions, which other programs keep as well. */
import * as Command from "effect/cli/Command"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

const flags = { sessions: SessionFlags.sessions("Directory of sessions"), json: OutputFlags.json() }

export type Input = Command.Command.Config.Infer<typeof flags>

const refresh = Command.make(
  "refresh",
  flags,
  lazily(() => import("./sessionIndex/refresh/run.ts"))
).pipe(
  Command.withDescription(
    "Update the rows of new, changed and removed sessions; a damaged index is moved aside and made again"
  ),
  Command.withExamples([
    { command: "pi-sessions index refresh", description: "Bring the index of Pi's own sessions up to date" },
    { command: "pi-sessions index refresh --sessions ~/backup", description: "Make or refresh the index of a backup" }
  ])
)

const status = Command.make(
  "status",
  flags,
  lazily(() => import("./sessionIndex/status/run.ts"))
).pipe(
  Command.withDescription("Compare each directory's index with the sessions below it; changes nothing"),
  Command.withExamples([
    { command: "pi-sessions index status", description: "How many rows are current" },
    { command: "pi-sessions index status --json", description: "The same, for a program" }
  ])
)

export const sessionIndex = Command.make("index").pipe(
  Command.withDescription(
    "session-index.sqlite of a directory of sessions; lists are faster with it, but work without it"
  ),
  Command.withSubcommands([refresh, status])
)
