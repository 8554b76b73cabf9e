/** `pi-sessions fork`: a branch becomes a session of its own. */
import * as Command from "effect/cli/Command"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import * as TargetFlags from "../flags/TargetFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  session: SessionFlags.session,
  at: FlagKinds.text(
    "at",
    "ENTRY",
    "Last entry of the new session: id or start of an id. Default: the session's leaf."
  ),
  out: TargetFlags.out("beside the session, named by Pi's rule"),
  sessionDir: TargetFlags.sessionDir,
  cwd: FlagKinds.text(
    "cwd",
    "DIR",
    "Working directory of the new session, and write the file where Pi keeps its sessions. Default: the session's."
  ),
  json: OutputFlags.json()
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const fork = Command.make(
  "fork",
  flags,
  lazily(() => import("./fork/run.ts"))
).pipe(
  Command.withDescription("Write the branch that ends at an entry to a new session file, as Pi's own fork does"),
  Command.withExamples([
    { command: "pi-sessions fork 01a1fb8b --at 76a86388", description: "Prints the path of the new session" },
    { command: 'pi --session "$(pi-sessions fork 01a1fb8b --at 76a86388)"', description: "Continue from there in Pi" }
  ])
)
