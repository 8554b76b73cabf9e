/**
 * What Pi keeps beside its sessions (seed 003): named and measured, never opened and never searched. Its credentials
 * are not among it: `auth.json` is not even asked for its size.
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

/** A store of Pi's agent directory that holds no sessions. */
export interface DocumentaryStore {
  /** Seed 003's id of it. */
  readonly store: string
  /** Absolute. */
  readonly path: string
  readonly holds: string
  /** Undefined where there is none. */
  readonly is: "file" | "directory" | "other" | undefined
  /** Of a file. */
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

/** All of them, those that are not there included. */
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
