/** `pi-sessions fork`: a branch as a session of its own. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"

export const fork = Command.make(
  "fork",
  {
    session: Argument.String("SESSION").pipe(
      Argument.withDescription("Path, id or beginning of an id (default, at a terminal: choose from a list)"),
      Argument.optional
    ),
    at: Flag.String("at").pipe(
      Flag.withMetavar("ENTRY"),
      Flag.withDescription("Last entry of the new session, by id or beginning of one (default: the session's leaf)"),
      Flag.optional
    ),
    out: Flag.String("out").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription("Session file to write (default: beside the session, named by Pi's rule)"),
      Flag.optional
    ),
    sessionDir: Flag.String("session-dir").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription("Directory to write the session file to, named by Pi's rule"),
      Flag.optional
    ),
    cwd: Flag.String("cwd").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription(
        "Directory that the new session goes on in (default: that of the session); the file goes where Pi keeps its sessions"
      ),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./fork/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription("Write the branch that ends at an entry to a new session file, as Pi's own fork does"),
  Command.withExamples([
    { command: "pi-sessions fork 01a1fb8b --at 76a86388", description: "Prints the path of the new session" },
    {
      command: 'pi --session "$(pi-sessions fork 01a1fb8b --at 76a86388)"',
      description: "Go on from there in Pi at once"
    }
  ])
)
