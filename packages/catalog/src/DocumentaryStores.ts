/**
 * Lists what Pi keeps beside its sessions, with sizes and times. These files are never opened or searched, and
 * `auth.json` is not listed (docs/adr/004-discovery-and-search.md).
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { FileSurvey } from "./FileSurvey.ts"
import { type DiscoveryOptions } from "./SessionDiscovery.ts"

/** A file or directory in Pi's agent directory that contains no sessions. */
export interface DocumentaryStore {
  /** A fixed id, for example `pi.settings`. */
  readonly store: string
  /** Absolute. */
  readonly path: string
  readonly holds: string
  /** Undefined if it does not exist. */
  readonly is: "file" | "directory" | "other" | undefined
  /** Undefined for anything but a file. */
  readonly sizeBytes: number | undefined
  /** Unix time in milliseconds. */
  readonly modifiedMs: number | undefined
}

const STORES = [
  { store: "pi.settings", name: "settings.json", holds: "settings" },
  { store: "pi.models", name: "models.json", holds: "providers and models of a person's own" },
  { store: "pi.themes", name: "themes", holds: "colour themes" },
  { store: "pi.tools", name: "tools", holds: "tools of a person's own" },
  { store: "pi.bin", name: "bin", holds: "programs that Pi fetched (fd, rg)" },
  { store: "pi.prompts", name: "prompts", holds: "prompt templates" },
  { store: "pi.debug_log", name: "pi-debug.log", holds: "debug log" },
  { store: "pi.extensions_npm", name: "npm", holds: "extensions that were installed from npm" }
] as const

/** All stores, including those that do not exist. */
export const list = Effect.fn("DocumentaryStores.list")(function* (
  options: Pick<DiscoveryOptions, "cwd"> = {}
): Effect.fn.Return<
  ReadonlyArray<DocumentaryStore>,
  Config.ConfigError | SessionFileError,
  FileSurvey | FileSystem.FileSystem | Path.Path
> {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const directory = SessionPath.agentDir(yield* PiEnvironment.read(path.resolve(options.cwd ?? ".")))
  const paths = STORES.map(({ name }) => path.join(directory, name))
  const facts = yield* survey.facts(paths)
  return STORES.map(({ holds, store }, at) => {
    const fact = facts[at]
    const known = fact === undefined || fact instanceof SessionFileError ? undefined : fact
    return {
      store,
      path: paths[at] ?? "",
      holds,
      is: known === undefined ? undefined : KINDS[known.type],
      sizeBytes: known?.type === "File" ? known.sizeBytes : undefined,
      modifiedMs: known?.modifiedMs
    }
  })
})

const KINDS = { File: "file", Directory: "directory", Other: "other" } as const
