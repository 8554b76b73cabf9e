/**
 * Where Pi keeps session files, and what it calls them (0.78.0 and 1.5.2 agree). Pure: the environment is an argument.
 */
import { isAbsolute, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/**
 * Name of the folder for a working directory: one leading slash off, every `/`, `\` and `:` a dash, between `--`.
 * Spaces and other characters stay. Not reversible: `/a-b` and `/a/b` share a folder.
 */
export const encodeCwd = (cwd: string): string => `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`

/** File name for a session: the ISO timestamp with `:` and `.` as dashes, `_`, the id. Pi never parses it. */
export const fileName = (timestamp: string, sessionId: string): string =>
  `${timestamp.replace(/[:.]/g, "-")}_${sessionId}.jsonl`

export interface Environment {
  /** Absolute. */
  readonly home: string
  /** Absolute: where Pi would run. */
  readonly cwd: string
  /** `PI_CODING_AGENT_DIR`: `~` and `file://` are understood. */
  readonly agentDir?: string | undefined
  /** `PI_CODING_AGENT_SESSION_DIR` */
  readonly sessionDir?: string | undefined
  /** `sessionDir` of Pi's settings.json. */
  readonly settingsSessionDir?: string | undefined
}

export interface SessionDir {
  /** Absolute. */
  readonly path: string
  /** A flat folder holds the sessions of every working directory; theirs stands in the header. */
  readonly flat: boolean
  readonly source: "flag" | "environment" | "settings" | "default"
}

/** A path as Pi reads it from a person: `~`, `~/x` and `file://` expanded, relative to `environment.cwd`. */
export const expand = (path: string, environment: Pick<Environment, "home" | "cwd">): string => {
  let expanded = path
  if (path === "~") expanded = environment.home
  else if (path.startsWith("~/")) expanded = join(environment.home, path.slice(2))
  else if (path.startsWith("file://")) expanded = fileURLToPath(path)
  return isAbsolute(expanded) ? resolve(expanded) : resolve(environment.cwd, expanded)
}

/** `~/.pi/agent`, or what the environment says. */
export const agentDir = (environment: Environment): string =>
  environment.agentDir ? expand(environment.agentDir, environment) : join(environment.home, ".pi", "agent")

/** The folder that holds one folder for each working directory. */
export const sessionsRoot = (environment: Environment): string => join(agentDir(environment), "sessions")

/** Where Pi would put a new session: the flag, else the environment, else its settings, else the default. */
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
