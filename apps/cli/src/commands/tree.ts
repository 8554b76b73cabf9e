/** `pi-sessions tree`: the branching of a session. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"

export const tree = Command.make(
  "tree",
  {
    session: Argument.String("SESSION").pipe(
      Argument.withDescription("Path, id or beginning of an id (default, at a terminal: choose from a list)"),
      Argument.optional
    ),
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("A line for each entry; else runs of entries without a branch are one line"),
      Flag.withDefault(false)
    ),
    ascii: Flag.Boolean("ascii").pipe(Flag.withDescription("Draw with ASCII characters only"), Flag.withDefault(false)),
    width: Flag.Int("width").pipe(
      Flag.withMetavar("COLUMNS"),
      Flag.withDescription(
        "Cut lines at so many columns, 20 at the least (default: as wide as the terminal; not at all in a pipe)"
      ),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print one JSON document: roots, leaves, branch points, and each entry"),
      Flag.withDefault(false)
    )
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./tree/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription("Draw the branching of a session, with labels, compactions, branch summaries and the leaf"),
  Command.withExamples([
    { command: "pi-sessions tree 01a1fb8b", description: "The branches; ids of entries are for show, fork and Pi" },
    { command: "pi-sessions tree session.jsonl --all --ascii", description: "Every entry, for any terminal" }
  ])
)
