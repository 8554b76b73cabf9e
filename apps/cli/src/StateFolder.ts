/** The folder for state of this machine: `$XDG_STATE_HOME/pi-sessions`. Default: `~/.local/state/pi-sessions`. */
import { homedir } from "node:os"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"

/** The path of a file or folder in it. */
export const inState = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const state = yield* Config.option(Config.String("XDG_STATE_HOME"))
  const root = Option.getOrElse(state, () => path.join(homedir(), ".local", "state"))
  return path.join(root, "pi-sessions", ...names)
})
