/** `pi-sessions tree`: the branches of a session as a drawing. */
import * as Command from "effect/cli/Command"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  session: SessionFlags.session,
  all: FlagKinds.on("all", "Print a line for each entry. Default: one line for entries without a branch between them."),
  ascii: FlagKinds.on("ascii", "Draw with ASCII characters only"),
  width: OutputFlags.width("Cut lines"),
  json: OutputFlags.json("Print one JSON document: roots, leaves, branch points, and each entry")
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const tree = Command.make(
  "tree",
  flags,
  lazily(() => import("./tree/run.ts"))
).pipe(
  Command.withDescription("Draw the branches of a session, with labels, compactions, branch summaries and the leaf"),
  Command.withExamples([
    { command: "pi-sessions tree 01a1fb8b", description: "The branches; show, fork and Pi take the ids of entries" },
    { command: "pi-sessions tree session.jsonl --all --ascii", description: "Every entry, for any terminal" }
  ])
)
