/**
 * Where a person's sessions are: what Pi's environment and settings say, or the paths that were given.
 *
 * Pi writes to one place, but a person who once set another one still has sessions in the former: without explicit paths
 * all places that Pi could have used are searched. Explicit paths win alone. Of Pi's files only `settings.json` is read,
 * `auth.json` never.
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"

/** Who names a place. */
export type RootReason = "--sessions" | "PI_CODING_AGENT_SESSION_DIR" | "settings.json" | "default"

/** A directory to search to any depth, or one file (only from `--sessions`). */
export interface SessionRoot {
  /** Absolute. */
  readonly path: string
  readonly why: RootReason
}

export interface Discovery {
  /** What to search, each path once, best reason first. Explicit paths are here even when they do not exist. */
  readonly roots: ReadonlyArray<SessionRoot>
  /** Places that Pi would use but that are not there (yet): nothing to search, and no error. */
  readonly missing: ReadonlyArray<SessionRoot>
}

export interface DiscoveryOptions {
  /** Files and directories a person named. */
  readonly sessions?: ReadonlyArray<string>
  /** What relative paths start from; the process's working directory unless told. */
  readonly cwd?: string
}

/** The places to look in, whether they exist or not. Pure. */
export const candidates = (
  environment: SessionPath.Environment,
  sessions: ReadonlyArray<string> = []
): ReadonlyArray<SessionRoot> => {
  const roots = new Map<string, SessionRoot>()
  const add = (given: string | undefined, why: RootReason): void => {
    if (!given) return
    const path = SessionPath.expand(given, environment)
    if (!roots.has(path)) roots.set(path, { path, why })
  }
  for (const given of sessions) add(given, "--sessions")
  if (roots.size === 0) {
    add(environment.sessionDir, "PI_CODING_AGENT_SESSION_DIR")
    add(environment.settingsSessionDir, "settings.json")
    add(SessionPath.sessionsRoot(environment), "default")
  }
  return [...roots.values()]
}

/** The roots for `SessionSource.layerPaths`, each with why it is one. */
export const discover = Effect.fn("SessionDiscovery.discover")(function* (
  options: DiscoveryOptions = {}
): Effect.fn.Return<Discovery, Config.ConfigError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const environment = yield* PiEnvironment.read(path.resolve(options.cwd ?? "."))
  const roots: Array<SessionRoot> = []
  const missing: Array<SessionRoot> = []
  for (const root of candidates(environment, options.sessions)) {
    const there = root.why === "--sessions" || (yield* Effect.orElseSucceed(fs.exists(root.path), () => true))
    if (there) roots.push(root)
    else missing.push(root)
  }
  return { roots, missing }
})
