/** `pi-sessions doctor`: what is damaged in sessions, and copies that are whole. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"

export const doctor = Command.make(
  "doctor",
  {
    sessions: Argument.String("SESSION|DIR").pipe(
      Argument.withDescription(
        "Path, id or beginning of an id; or a directory, searched to any depth (default, at a terminal: choose from a list)"
      ),
      Argument.variadic()
    ),
    fix: Flag.Boolean("fix").pipe(
      Flag.withDescription(
        "Write a repaired copy beside each damaged file (NAME.repaired.jsonl), with an id of its own; the file stays as it is"
      ),
      Flag.withDefault(false)
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./doctor/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription(
    "Find damage in sessions and say what Pi 0.78 and Pi 1.5 would do with it; exit 1 while errors are left"
  ),
  Command.withExamples([
    { command: "pi-sessions doctor session.jsonl", description: "One session; changes nothing" },
    { command: "pi-sessions doctor 01a1fb8b 01a1fc09", description: "Two sessions by the beginning of their ids" },
    { command: "pi-sessions doctor ~/.pi/agent/sessions --json", description: "All of them, as one document" },
    {
      command: "pi-sessions doctor session.jsonl --fix && pi --session session.repaired.jsonl",
      description: "Go on in a repaired copy; exit 0 when it has no errors left"
    }
  ])
)
