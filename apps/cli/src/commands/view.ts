/** `pi-sessions view`: sessions and datasets in a browser. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as SampleFlags from "../flags/SampleFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  what: Argument.String("SESSION|DIR|DATASET").pipe(
    Argument.withDescription(
      "Session (path, id or start of an id), directory of sessions, or dataset. Default: where Pi keeps its sessions."
    ),
    Argument.optional
  ),
  sessions: SessionFlags.sessions("Session file, or directory searched to any depth; with a dataset: its sessions"),
  out: FlagKinds.text("out", "FILE.html", "Write one file that needs no server, and end"),
  open: FlagKinds.on("open", "Open a browser"),
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("Port to listen on; 0: any free port. Default: 0."),
    Flag.withDefault(0)
  ),
  marks: FlagKinds.text(
    "marks",
    "FILE",
    "Where to keep accept and reject marks, for extract --marks. Default: in ~/.local/state/pi-sessions."
  ),
  format: SampleFlags.format("Dataset format of the samples shown beside a session"),
  noRedact: SampleFlags.noRedact("Show secrets, user names, host names and e-mail addresses"),
  pictures: FlagKinds.on("pictures", "Write pictures to --out too. Pictures are not redacted."),
  ...SampleFlags.secrets
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const view = Command.make(
  "view",
  flags,
  lazily(() => import("./view/run.ts"))
).pipe(
  Command.withDescription(
    "Look at sessions and datasets in a browser, redacted; serves only this machine, until interrupted"
  ),
  Command.withExamples([
    { command: "pi-sessions view --open", description: "All sessions that Pi keeps" },
    { command: "pi-sessions view 01a1fb8b", description: "One session: its tree, branches and samples" },
    {
      command: "pi-sessions view dataset-deacon --sessions ~/backup",
      description: "A dataset, and the sessions it was made of"
    },
    { command: "pi-sessions view session.jsonl --out session.html", description: "One file, to pass on" }
  ])
)
