/**
 * Finds the directories that contain sessions: the given paths, else every directory that Pi's environment and settings
 * name. Pi writes to one of them, but older sessions may be in the others. Reads `settings.json`, never `auth.json`.
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"

/** What names a directory. */
export type RootReason = "--sessions" | "PI_CODING_AGENT_SESSION_DIR" | "settings.json" | "default"

/** A directory to search to any depth, or one file (only from `--sessions`). */
export interface SessionRoot {
  /** Absolute. */
  readonly path: string
  readonly why: RootReason
}

export interface Discovery {
  /** Paths to search, the directory that Pi uses first. Includes explicit paths that do not exist. */
  readonly roots: ReadonlyArray<SessionRoot>
  /** Directories that Pi would use and that do not exist. This is not an error. */
  readonly missing: ReadonlyArray<SessionRoot>
}

export interface DiscoveryOptions {
  /** Explicit files and directories. Default: Pi's directories. */
  readonly sessions?: ReadonlyArray<string>
  /** Base of relative paths. Default: the working directory of the process. */
  readonly cwd?: string
}

/** All directories that may contain sessions, existing or not. Does no I/O. */
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

/** Splits the candidates into those that exist and those that do not. */
export const discover = Effect.fn("SessionDiscovery.discover")(function* (
  options: DiscoveryOptions = {}
): Effect.fn.Return<Discovery, Config.ConfigError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const environment = yield* PiEnvironment.read(path.resolve(options.cwd ?? "."))
  const roots: Array<SessionRoot> = []
  const missing: Array<SessionRoot> = []
  for (const root of candidates(environment, options.sessions)) {
    const exists = root.why === "--sessions" || (yield* Effect.orElseSucceed(fs.exists(root.path), () => true))
    if (exists) roots.push(root)
    else missing.push(root)
  }
  return { roots, missing }
})
