/** `pi-sessions view`: sessions and datasets in a browser. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { FormatName } from "@pi-sessions/formats/FormatName"

const on = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

const flags = {
  what: Argument.String("SESSION|DIR|DATASET").pipe(
    Argument.withDescription(
      "A session (path, id or beginning of an id), a directory of sessions, or one that extract wrote (default: all sessions that Pi keeps)"
    ),
    Argument.optional
  ),
  sessions: Flag.String("sessions").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription("Session file, or directory to search to any depth; beside a dataset, those it was made of"),
    Flag.atLeast(0)
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("FILE.html"),
    Flag.withDescription("Write it all into one file that needs no server, and end"),
    Flag.optional
  ),
  open: on("open", "Open a browser"),
  port: Flag.Int("port").pipe(Flag.withDescription("Port to listen on; 0 takes any free one"), Flag.withDefault(0)),
  marks: Flag.String("marks").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(
      "Keep accept and reject marks there, for extract --marks (default: in ~/.local/state/pi-sessions)"
    ),
    Flag.optional
  ),
  format: Flag.Literals("format", FormatName.literals).pipe(
    Flag.withDescription("The format of the samples that are shown beside a session"),
    Flag.withDefault("messages")
  ),
  noRedact: on("no-redact", "Show secrets and names of people as they stand"),
  pictures: on("pictures", "Put pictures into --out too, although nobody takes secrets out of them"),
  secret: Flag.String("secret").pipe(
    Flag.withMetavar("VALUE"),
    Flag.withDescription("A value to take out whatever it looks like (as in extract)"),
    Flag.atLeast(0)
  ),
  secretsFrom: Flag.String("secrets-from").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("A .env file, a JSON file or a list of lines with such values"),
    Flag.atLeast(0)
  ),
  redactionKey: Flag.String("redaction-key").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("The key of the placeholders' numbers (as in extract)"),
    Flag.optional
  )
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const view = Command.make("view", flags, (input) =>
  Effect.flatMap(
    Effect.promise(() => import("./view/run.ts")),
    (command) => command.run(input)
  )
).pipe(
  Command.withDescription(
    "Look at sessions and datasets in a browser, redacted; serves this machine alone, until it is interrupted"
  ),
  Command.withExamples([
    { command: "pi-sessions view --open", description: "All sessions that Pi keeps" },
    {
      command: "pi-sessions view 01a1fb8b",
      description: "One session: its tree, its branches, the samples made of it"
    },
    {
      command: "pi-sessions view dataset-deacon --sessions ~/backup",
      description: "A dataset, and the sessions it was made of"
    },
    { command: "pi-sessions view session.jsonl --out session.html", description: "One file, to give to somebody" }
  ])
)
