/** Flags that choose where a session is written. */
import * as FlagKinds from "./FlagKinds.ts"

/** `otherwise` is the default. */
export const out = (otherwise: string) => FlagKinds.text("out", "FILE", `Session file to write. Default: ${otherwise}.`)

export const sessionDir = FlagKinds.text(
  "session-dir",
  "DIR",
  "Directory to write the session file to, named by Pi's rule"
)
