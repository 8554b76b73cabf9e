/** `pi-sessions list`: the sessions on this machine. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"
import { COLUMNS, SORTS } from "./list/ColumnName.ts"

const flags = {
  sessions: SessionFlags.sessions(),
  columns: FlagKinds.text(
    "columns",
    "NAMES",
    `Columns, separated by commas: ${COLUMNS.join(", ")}. Slower: messages and name read sessions that are not in the index; rig and role read the start of every session.`
  ),
  sort: Flag.Literals("sort", SORTS).pipe(
    Flag.withDescription("Times, sizes and counts: largest first; texts: alphabetical. Default: modified."),
    Flag.withDefault("modified")
  ),
  reverse: FlagKinds.on("reverse", "Reverse the order"),
  limit: SessionFlags.limit("sessions"),
  cwd: SessionFlags.cwd,
  rig: SessionFlags.rig,
  role: SessionFlags.role,
  since: SessionFlags.since("sessions changed"),
  until: SessionFlags.until("sessions not changed after this time"),
  name: FlagKinds.text("name", "TEXT", "Only sessions whose name contains this text, in any case"),
  others: FlagKinds.on("others", "List files that are not sessions or cannot be read, with the reason"),
  documents: FlagKinds.on("documents", "List Pi's other files (settings, models ...), without opening them"),
  json: OutputFlags.json(),
  ndjson: OutputFlags.ndjson()
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const list = Command.make(
  "list",
  flags,
  lazily(() => import("./list/run.ts"))
).pipe(
  Command.withDescription("List sessions, newest first, wherever Pi put them"),
  Command.withExamples([
    { command: "pi-sessions list --limit 20", description: "The newest sessions" },
    { command: "pi-sessions list --cwd . --since 7d", description: "This week's sessions of this project" },
    {
      command: "pi-sessions list --columns id,size,messages,name,path --sort size",
      description: "The largest sessions first"
    },
    { command: "pi-sessions list --sessions ~/backup --ndjson", description: "Sessions of a backup, for a program" },
    { command: "pi-sessions list --others", description: "Files among the sessions that are not sessions, and why" }
  ])
)
