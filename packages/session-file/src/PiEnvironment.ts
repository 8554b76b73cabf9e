/** What Pi's own environment says about where sessions are: variables, home, and `sessionDir` of its settings. */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as SessionPath from "@pi-sessions/core/SessionPath"

const decodeSettings = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ sessionDir: Schema.optionalKey(Schema.String) }))
)

const config = Config.all({
  home: Config.String("HOME").pipe(
    Config.orElse(() => Config.String("USERPROFILE")),
    Config.withDefault("/")
  ),
  agentDir: Config.option(Config.String("PI_CODING_AGENT_DIR")),
  sessionDir: Config.option(Config.String("PI_CODING_AGENT_SESSION_DIR"))
})

export class PiEnvironment extends Context.Service<PiEnvironment, SessionPath.Environment>()(
  "@pi-sessions/session-file/PiEnvironment"
) {
  /** The environment of a person or Pi in `cwd` (absolute). Settings that are absent or damaged count as empty. */
  static readonly layer = (cwd: string) =>
    Layer.effect(
      PiEnvironment,
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const { home, agentDir, sessionDir } = yield* config
        const environment = {
          home,
          cwd,
          agentDir: Option.getOrUndefined(agentDir),
          sessionDir: Option.getOrUndefined(sessionDir)
        }
        const sessionDirOf = (file: string) =>
          fs.readFileString(file).pipe(
            Effect.map((text) => Option.getOrUndefined(decodeSettings(text))?.sessionDir),
            Effect.orElseSucceed(() => undefined)
          )
        // As Pi merges them: the project's settings over the person's.
        const settingsSessionDir =
          (yield* sessionDirOf(path.join(cwd, ".pi", "settings.json"))) ??
          (yield* sessionDirOf(path.join(SessionPath.agentDir(environment), "settings.json")))
        return PiEnvironment.of({ ...environment, settingsSessionDir })
      })
    )
}
