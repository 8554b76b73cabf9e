/** Directories and names of Pi's session files (0.78.0 and 1.5.2 agree). The environment is an argument. */
import { isAbsolute, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/**
 * Name of the directory for the sessions of a working directory: without the leading slash, `/`, `\` and `:` as dashes,
 * between `--`. Not reversible: `/a-b` and `/a/b` have the same directory.
 */
export const encodeCwd = (cwd: string): string => `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`

/** File name of a session: the ISO timestamp with `:` and `.` as dashes, `_`, the id. Pi never parses it. */
export const fileName = (timestamp: string, sessionId: string): string =>
  `${timestamp.replace(/[:.]/g, "-")}_${sessionId}.jsonl`

export interface Environment {
  /** Absolute. */
  readonly home: string
  /** Absolute; the working directory of Pi. */
  readonly cwd: string
  /** `PI_CODING_AGENT_DIR`; see `expand`. */
  readonly agentDir?: string | undefined
  /** `PI_CODING_AGENT_SESSION_DIR` */
  readonly sessionDir?: string | undefined
  /** `sessionDir` of Pi's settings.json. */
  readonly settingsSessionDir?: string | undefined
}

export interface SessionDir {
  /** Absolute. */
  readonly path: string
  /** Whether the sessions of all working directories are in this one directory. */
  readonly flat: boolean
  readonly source: "flag" | "environment" | "settings" | "default"
}

/** The absolute path that Pi makes of user input: `~`, `~/x` and `file://` expanded, relative to `environment.cwd`. */
export const expand = (path: string, environment: Pick<Environment, "home" | "cwd">): string => {
  let expanded = path
  if (path === "~") expanded = environment.home
  else if (path.startsWith("~/")) expanded = join(environment.home, path.slice(2))
  else if (path.startsWith("file://")) expanded = fileURLToPath(path)
  return isAbsolute(expanded) ? resolve(expanded) : resolve(environment.cwd, expanded)
}

/** Pi's directory. Default: `~/.pi/agent`. */
export const agentDir = (environment: Environment): string =>
  environment.agentDir ? expand(environment.agentDir, environment) : join(environment.home, ".pi", "agent")

/** The directory with one directory for each working directory. */
export const sessionsRoot = (environment: Environment): string => join(agentDir(environment), "sessions")

/** Where Pi writes a new session: the flag, else the environment, else its settings, else the default. */
export const sessionDir = (environment: Environment, flag?: string): SessionDir => {
  if (flag) return { path: expand(flag, environment), flat: true, source: "flag" }
  if (environment.sessionDir) {
    return { path: expand(environment.sessionDir, environment), flat: true, source: "environment" }
  }
  if (environment.settingsSessionDir) {
    return { path: expand(environment.settingsSessionDir, environment), flat: true, source: "settings" }
  }
  return { path: join(sessionsRoot(environment), encodeCwd(environment.cwd)), flat: false, source: "default" }
}
