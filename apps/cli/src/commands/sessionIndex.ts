/** `pi-sessions index`: the session index that other programs keep as well. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"

const flags = {
  sessions: Flag.String("sessions").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Directory of sessions (default: where Pi keeps its sessions)"),
    Flag.atLeast(0)
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
}

const running = () => Effect.promise(() => import("./index/runIndex.ts"))

const refresh = Command.make("refresh", flags, (input) =>
  Effect.flatMap(running(), (command) => command.refresh(input))
).pipe(
  Command.withDescription(
    "Write rows of sessions that are new or changed, and remove those of files that are gone; a damaged index is moved aside and made anew"
  ),
  Command.withExamples([
    { command: "pi-sessions index refresh", description: "Bring the index of Pi's own sessions up to date" },
    { command: "pi-sessions index refresh --sessions ~/backup", description: "Make or refresh that of a backup" }
  ])
)

const status = Command.make("status", flags, (input) =>
  Effect.flatMap(running(), (command) => command.status(input))
).pipe(
  Command.withDescription("Compare each directory's index with the sessions below it; changes nothing"),
  Command.withExamples([
    { command: "pi-sessions index status", description: "How much of the index can be believed" },
    { command: "pi-sessions index status --json", description: "The same, for a program" }
  ])
)

export const sessionIndex = Command.make("index").pipe(
  Command.withDescription(
    "session-index.sqlite of a directory of sessions: lists are faster with it, and nothing needs it"
  ),
  Command.withSubcommands([refresh, status])
)
