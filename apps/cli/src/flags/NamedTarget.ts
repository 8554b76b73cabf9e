/** The target of `--out`, `--session-dir` and `--cwd`. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import { PiEnvironment } from "@pi-sessions/session-file/PiEnvironment"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { Invocation } from "../Invocation.ts"
import * as FlagCheck from "./FlagCheck.ts"

interface Target {
  readonly out: Option.Option<string>
  readonly sessionDir: Option.Option<string>
}

/** Refuses two targets. */
export const check = ({ out, sessionDir }: Target) =>
  FlagCheck.exclusive({ "--out": Option.isSome(out), "--session-dir": Option.isSome(sessionDir) })

/** The file of `--out` or the directory of `--session-dir`; undefined without both. */
export const given = Effect.fnUntraced(function* ({ out, sessionDir }: Target) {
  const { resolve } = yield* Invocation
  if (Option.isSome(out)) return SessionTarget.layerFile(resolve(out.value))
  return Option.isSome(sessionDir) ? SessionTarget.layerDirectory(resolve(sessionDir.value)) : undefined
})

/** Where Pi keeps the sessions of a working directory. */
export const piDirectory = (cwd: string) =>
  Layer.unwrap(
    Effect.map(PiEnvironment, (environment) => SessionTarget.layerDirectory(SessionPath.sessionDir(environment).path))
  ).pipe(Layer.provide(PiEnvironment.layer(cwd)))

/** A directory without symbolic links, because Pi names its folders so. A missing directory stays as given. */
export const realCwd = Effect.fnUntraced(function* (given: string) {
  const fs = yield* FileSystem.FileSystem
  const { resolve } = yield* Invocation
  return yield* fs.realPath(resolve(given)).pipe(Effect.orElseSucceed(() => resolve(given)))
})
