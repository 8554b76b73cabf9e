/** Reads where Pi keeps sessions: environment variables, home, and `sessionDir` of its settings. */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { homedir } from "node:os"
import * as SessionPath from "@pi-sessions/core/SessionPath"

/** Name of Pi's file of credentials. Listings skip it without opening it; it is read only when the user gives its path. */
export const CREDENTIALS = "auth.json"

const decodeSettings = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ sessionDir: Schema.optionalKey(Schema.String) }))
)

const text = (name: string) => Config.option(Config.String(name))

const variables = Config.all({
  home: text("HOME"),
  agentDir: text("PI_CODING_AGENT_DIR"),
  sessionDir: text("PI_CODING_AGENT_SESSION_DIR")
})

/** The environment of Pi in `cwd` (absolute). Missing and damaged settings count as empty. */
export const read = Effect.fn("PiEnvironment.read")(function* (
  cwd: string
): Effect.fn.Return<SessionPath.Environment, Config.ConfigError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { home, agentDir, sessionDir } = yield* variables
  const environment = {
    home: Option.getOrElse(
      Option.filter(home, (directory) => directory !== ""),
      homedir
    ),
    cwd,
    agentDir: Option.getOrUndefined(agentDir),
    sessionDir: Option.getOrUndefined(sessionDir)
  }
  const sessionDirOf = (file: string) =>
    fs.readFileString(file).pipe(
      Effect.map((settings) => Option.getOrUndefined(decodeSettings(settings))?.sessionDir),
      Effect.orElseSucceed(() => undefined)
    )
  // As in Pi, the project's settings have priority over the user's.
  const settingsSessionDir =
    (yield* sessionDirOf(path.join(cwd, ".pi", "settings.json"))) ??
    (yield* sessionDirOf(path.join(SessionPath.agentDir(environment), "settings.json")))
  return { ...environment, settingsSessionDir }
})

export class PiEnvironment extends Context.Service<PiEnvironment, SessionPath.Environment>()(
  "@pi-sessions/session-file/PiEnvironment"
) {
  static readonly layer = (cwd: string) => Layer.effect(PiEnvironment, read(cwd))
}
