/** `pi-sessions doctor`: damage in sessions, and repaired copies. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  sessions: Argument.String("SESSION|DIR").pipe(
    Argument.withDescription(
      "Path, id or start of an id; or a directory, searched to any depth. Default at a terminal: choose from a list."
    ),
    Argument.variadic()
  ),
  fix: FlagKinds.on(
    "fix",
    "Write a repaired copy beside each damaged file (NAME.repaired.jsonl), with its own id; the file does not change"
  ),
  json: OutputFlags.json()
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const doctor = Command.make(
  "doctor",
  flags,
  lazily(() => import("./doctor/run.ts"))
).pipe(
  Command.withDescription(
    "Find damage in sessions and print what Pi 0.78 and Pi 1.5 do with it; exit 1 while errors are left"
  ),
  Command.withExamples([
    { command: "pi-sessions doctor session.jsonl", description: "One session; changes nothing" },
    { command: "pi-sessions doctor 01a1fb8b 01a1fc09", description: "Two sessions, by the start of their ids" },
    { command: "pi-sessions doctor ~/.pi/agent/sessions --json", description: "All sessions, as one document" },
    {
      command: "pi-sessions doctor session.jsonl --fix && pi --session session.repaired.jsonl",
      description: "Continue in a repaired copy; exit 0 if it has no errors left"
    }
  ])
)
