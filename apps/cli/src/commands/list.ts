/** `pi-sessions list`: the sessions there are. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GasTown from "@pi-sessions/core/GasTown"
import { COLUMNS, SORTS } from "./list/ColumnName.ts"

const on = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

export const list = Command.make(
  "list",
  {
    sessions: Flag.String("sessions").pipe(
      Flag.withMetavar("PATH"),
      Flag.withDescription("Session file, or directory to search to any depth (default: where Pi keeps its sessions)"),
      Flag.atLeast(0)
    ),
    columns: text(
      "columns",
      "NAMES",
      `Columns of the table, with commas between: ${COLUMNS.join(", ")}. messages and name are read from every session that the index does not know; rig and role from every session's beginning`
    ),
    sort: Flag.Literals("sort", SORTS).pipe(
      Flag.withDescription("Times, sizes and counts: the largest first; all else in order of the alphabet"),
      Flag.withDefault("modified")
    ),
    reverse: on("reverse", "The other way round"),
    limit: Flag.Int("limit").pipe(Flag.withMetavar("N"), Flag.withDescription("No more than so many"), Flag.optional),
    cwd: text("cwd", "DIR", "Only sessions of this working directory and those below it"),
    rig: Flag.String("rig").pipe(
      Flag.withMetavar("RIG"),
      Flag.withDescription("Only sessions of this rig, town-level agent or address (as in extract)"),
      Flag.atLeast(0)
    ),
    role: Flag.Literals("role", GasTown.Role.literals).pipe(
      Flag.withDescription("Only sessions of this role"),
      Flag.atLeast(0)
    ),
    since: text("since", "WHEN", "Only sessions that changed since then: 2026-02-25, 2026-02-25T08:30, 7d, 12h"),
    until: text("until", "WHEN", "Only sessions that did not change after that (a day counts whole)"),
    name: text("name", "TEXT", "Only sessions whose name has this text in it; upper and lower case are the same"),
    others: on("others", "In place of sessions: files that are none, and what could not be read, with reasons"),
    documents: on(
      "documents",
      "In place of sessions: Pi's other stores (settings, models ...), which are never opened"
    ),
    json: on("json", "Print one JSON document"),
    ndjson: on("ndjson", "Print one JSON object a line")
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./list/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription("List the sessions there are, newest first, wherever Pi put them"),
  Command.withExamples([
    { command: "pi-sessions list --limit 20", description: "The newest sessions" },
    { command: "pi-sessions list --cwd . --since 7d", description: "This week's sessions of this project" },
    {
      command: "pi-sessions list --columns id,size,messages,name,path --sort size",
      description: "The largest sessions first, with what must be read from them"
    },
    { command: "pi-sessions list --sessions ~/backup --ndjson", description: "Sessions of a backup, for a program" },
    { command: "pi-sessions list --others", description: "Files among the sessions that are none, and why" }
  ])
)
