/** `pi-sessions store`: Session Store V2, which keeps each session in a container. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import { lazily } from "../lazily.ts"

const SESSION = "Session file, container (ID.v2) or marker (ID.active.json)"

const session = Argument.String("SESSION").pipe(Argument.withDescription(SESSION))

const storeFlags = {
  paths: Argument.String("SESSION|DIR").pipe(
    Argument.withDescription(`${SESSION}; or a directory, searched to any depth`),
    Argument.variadic({ min: 1 })
  ),
  json: OutputFlags.json()
}

/** Flags of `checkpoint`, `stat` and `verify`. */
export type StoreInput = Command.Command.Config.Infer<typeof storeFlags>

const fileFormat = (name: string, description: string) =>
  Flag.Literals(name, ["jsonl_v3", "sqlite_v1"]).pipe(Flag.withDescription(description), Flag.optional)

const migrateFlags = {
  ...storeFlags,
  from: fileFormat(
    "from",
    "Format of the sources. Default: by their extension; in a directory, .jsonl files, with sqlite_v1 .sqlite files."
  )
}

export type MigrateInput = Command.Command.Config.Infer<typeof migrateFlags>

const migrate = Command.make(
  "migrate",
  migrateFlags,
  lazily(() => import("./store/migrate/run.ts"))
).pipe(
  Command.withDescription("Put sessions into containers beside their files, which do not change"),
  Command.withExamples([
    {
      command: "pi-sessions store migrate ~/.pi/agent/sessions",
      description: "All sessions; run it again to continue after an interruption"
    },
    { command: "pi-sessions store migrate session.sqlite", description: "One session from a SQLite file" }
  ])
)

const rollbackFlags = {
  session,
  to: fileFormat("to", "Format of the file. Default: the format that the session was migrated from."),
  reason: FlagKinds.text("reason", "TEXT", "Reason, for the ledger"),
  json: OutputFlags.json()
}

export type RollbackInput = Command.Command.Config.Infer<typeof rollbackFlags>

const rollback = Command.make(
  "rollback",
  rollbackFlags,
  lazily(() => import("./store/rollback/run.ts"))
).pipe(
  Command.withDescription("Leave a container: write every entry to a file, and print its path"),
  Command.withExamples([
    {
      command: 'pi --session "$(pi-sessions store rollback session.jsonl --reason "Pi 0.78 again")"',
      description: "Continue the session in Pi"
    }
  ])
)

const verify = Command.make(
  "verify",
  storeFlags,
  lazily(() => import("./store/verify/run.ts"))
).pipe(
  Command.withDescription("Read everything and print each broken invariant with its file and byte; exit 1 if any is"),
  Command.withExamples([
    { command: "pi-sessions store verify ~/.pi/agent/sessions", description: "All stores; changes nothing" }
  ])
)

const checkpoint = Command.make(
  "checkpoint",
  storeFlags,
  lazily(() => import("./store/checkpoint/run.ts"))
).pipe(
  Command.withDescription("Repair what an interrupted writer left, seal, index, and write a checkpoint"),
  Command.withExamples([
    { command: "pi-sessions store checkpoint ID.v2", description: "Opening it needs no scan afterwards" }
  ])
)

const stat = Command.make(
  "stat",
  storeFlags,
  lazily(() => import("./store/stat/run.ts"))
).pipe(
  Command.withDescription("Print entries, sizes and state of stores, and which store of a session is active"),
  Command.withExamples([
    { command: "pi-sessions store stat ~/.pi/agent/sessions", description: "A table of all stores" },
    { command: "pi-sessions store stat ID.v2 --json", description: "Everything about one store" }
  ])
)

const exportFlags = {
  session,
  out: Flag.String("out").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("File to write, or - for standard output. Default: -."),
    Flag.withDefault("-")
  ),
  force: FlagKinds.on("force", "Move an existing file aside instead of failing"),
  salvage: FlagKinds.on("salvage", "From a damaged container: every whole line, and on stderr what is lost"),
  json: OutputFlags.json("With --out FILE: print one JSON document")
}

export type ExportInput = Command.Command.Config.Infer<typeof exportFlags>

const exportSession = Command.make(
  "export",
  exportFlags,
  lazily(() => import("./store/export/run.ts"))
).pipe(
  Command.withDescription("Write a session's JSONL, byte for byte, from its active store"),
  Command.withExamples([
    { command: "pi-sessions store export ID.v2 --out session.jsonl", description: "To a new file" },
    { command: "pi-sessions store export ID.v2 | tail -n 3", description: "To another program" }
  ])
)

const activateFlags = {
  container: Argument.String("CONTAINER").pipe(
    Argument.withDescription("Container (ID.v2) whose marker (ID.active.json) is lost or damaged")
  ),
  json: OutputFlags.json()
}

export type ActivateInput = Command.Command.Config.Infer<typeof activateFlags>

const activate = Command.make(
  "activate",
  activateFlags,
  lazily(() => import("./store/activate/run.ts"))
).pipe(
  Command.withDescription("Make a container that lost its marker the active store of its session again"),
  Command.withExamples([
    { command: "pi-sessions store activate ID.v2", description: "A damaged marker is kept under another name" }
  ])
)

export const store = Command.make("store").pipe(
  Command.withDescription("Sessions in containers: migrate, roll back, verify, checkpoint, stat, export, activate"),
  Command.withSubcommands([migrate, rollback, verify, checkpoint, stat, exportSession, activate])
)
