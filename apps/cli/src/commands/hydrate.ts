/** `pi-sessions hydrate`: a thread becomes a session file that Pi continues. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as TargetFlags from "../flags/TargetFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  thread: Flag.String("thread").pipe(
    Flag.withMetavar("REF"),
    Flag.withDescription(
      "Thread file (.jsonl or .json), - for standard input, or a thread id on the server ARBE_URL (with ARBE_TOKEN)"
    )
  ),
  session: FlagKinds.text(
    "session",
    "ID",
    "Session, if the thread mirrors several. Default: the session of its newest entry."
  ),
  cwd: FlagKinds.text("cwd", "DIR", "Directory in which the conversation continues. Default: the current one."),
  out: TargetFlags.out("in Pi's own session directory for --cwd"),
  sessionDir: TargetFlags.sessionDir,
  mode: Flag.Literals("mode", ["auto", "lossless", "semantic"]).pipe(
    Flag.withDescription(
      "lossless: byte for byte; semantic: by meaning; auto: lossless if the thread holds every raw line. Default: auto."
    ),
    Flag.withDefault("auto")
  ),
  tools: Flag.Literals("tools", ["pairs", "flatten", "omit"]).pipe(
    Flag.withDescription(
      "With semantic: keep tool calls with their results, write them as text, or leave them out. Default: pairs."
    ),
    Flag.withDefault("pairs")
  ),
  keepCwd: FlagKinds.on("keep-cwd", "With lossless: do not change the header's cwd"),
  force: FlagKinds.on("force", "Move a file that holds something else aside instead of failing"),
  json: OutputFlags.json()
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const hydrate = Command.make(
  "hydrate",
  flags,
  lazily(() => import("./hydrate/run.ts"))
).pipe(
  Command.withDescription("Rebuild a Pi session from a thread, so that the real Pi continues it here"),
  Command.withExamples([
    {
      command: "pi-sessions hydrate --thread thread.jsonl",
      description: "Into Pi's session directory for this folder"
    },
    {
      command: 'pi --session "$(pi-sessions hydrate --thread thread.jsonl --out session.jsonl)"',
      description: "Continue the conversation at once"
    },
    { command: "pi-sessions hydrate --thread - --cwd /sandbox < thread.jsonl", description: "From standard input" },
    {
      command: "ARBE_URL=https://arbe.example ARBE_TOKEN=... pi-sessions hydrate --thread th_1",
      description: "From a thread server"
    }
  ])
)
