/**
 * `pi-sessions store`: Session Store V2, a session in a container. Only what a call is made of stands here; the code of
 * the store is loaded when one of its commands runs.
 */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"

const paths = Argument.String("SESSION|DIR").pipe(
  Argument.withDescription(
    "Session file, container (ID.v2) or marker (ID.active.json); or a directory, searched to any depth"
  ),
  Argument.variadic({ min: 1 })
)

const session = Argument.String("SESSION").pipe(
  Argument.withDescription("Session file, container (ID.v2) or marker (ID.active.json)")
)

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))

/** Runs a command of a module that is loaded now. */
const lazily =
  <I, E, R>(load: () => Promise<{ readonly run: (input: I) => Effect.Effect<void, E, R> }>) =>
  (input: I): Effect.Effect<void, E, R> =>
    Effect.flatMap(Effect.promise(load), (command) => command.run(input))

const migrate = Command.make(
  "migrate",
  {
    paths,
    from: Flag.Literals("from", ["jsonl_v3", "sqlite_v1"]).pipe(
      Flag.withDescription(
        "Format of the sources (default: by their extension; in a directory .jsonl files, with sqlite_v1 .sqlite files)"
      ),
      Flag.optional
    ),
    json
  },
  lazily(() => import("./store/migrate/run.ts"))
).pipe(
  Command.withDescription("Put sessions into containers beside their files, which stay as they are"),
  Command.withExamples([
    {
      command: "pi-sessions store migrate ~/.pi/agent/sessions",
      description: "All sessions; run it again to go on where it stopped"
    },
    { command: "pi-sessions store migrate session.sqlite", description: "One session from a SQLite file" }
  ])
)

const rollback = Command.make(
  "rollback",
  {
    session,
    to: Flag.Literals("to", ["jsonl_v3", "sqlite_v1"]).pipe(
      Flag.withDescription("Format to go back to (default: what the session was migrated from)"),
      Flag.optional
    ),
    reason: Flag.String("reason").pipe(
      Flag.withMetavar("TEXT"),
      Flag.withDescription("Why, for the ledger"),
      Flag.optional
    ),
    json
  },
  lazily(() => import("./store/rollback/run.ts"))
).pipe(
  Command.withDescription("Leave a container: every entry is in a file again, whose path is printed"),
  Command.withExamples([
    {
      command: 'pi --session "$(pi-sessions store rollback session.jsonl --reason "Pi 0.78 again")"',
      description: "Go on with it in Pi"
    }
  ])
)

const verify = Command.make(
  "verify",
  { paths, json },
  lazily(() => import("./store/verify/run.ts"))
).pipe(
  Command.withDescription("Read everything and print each broken invariant with its file and byte; exit 1 when any is"),
  Command.withExamples([
    { command: "pi-sessions store verify ~/.pi/agent/sessions", description: "All stores; changes nothing" }
  ])
)

const checkpoint = Command.make(
  "checkpoint",
  { paths, json },
  lazily(() => import("./store/checkpoint/run.ts"))
).pipe(
  Command.withDescription("Mend what an interrupted writer left, seal, index, and write a checkpoint"),
  Command.withExamples([
    { command: "pi-sessions store checkpoint ID.v2", description: "Opening it needs no scan afterwards" }
  ])
)

const stat = Command.make(
  "stat",
  { paths, json },
  lazily(() => import("./store/stat/run.ts"))
).pipe(
  Command.withDescription("Tell what stores hold, how large they are, and which store of a session is the active one"),
  Command.withExamples([
    { command: "pi-sessions store stat ~/.pi/agent/sessions", description: "A table of all stores" },
    { command: "pi-sessions store stat ID.v2 --json", description: "Everything of one" }
  ])
)

const exportSession = Command.make(
  "export",
  {
    session,
    out: Flag.String("out").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription("File to write (default, or -: standard output)"),
      Flag.withDefault("-")
    ),
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("Move a file that is there aside instead of refusing"),
      Flag.withDefault(false)
    ),
    salvage: Flag.Boolean("salvage").pipe(
      Flag.withDescription("Of a damaged container: every line that is whole, and on stderr what is lost"),
      Flag.withDefault(false)
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("With --out FILE: print one JSON document"),
      Flag.withDefault(false)
    )
  },
  lazily(() => import("./store/export/run.ts"))
).pipe(
  Command.withDescription("Write a session's JSONL, byte for byte, from whichever store is its active one"),
  Command.withExamples([
    { command: "pi-sessions store export ID.v2 --out session.jsonl", description: "To a new file" },
    { command: "pi-sessions store export ID.v2 | tail -n 3", description: "To another program" }
  ])
)

const activate = Command.make(
  "activate",
  {
    container: Argument.String("CONTAINER").pipe(
      Argument.withDescription("Container (ID.v2) whose marker (ID.active.json) is lost or damaged")
    ),
    json
  },
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
