/** The settings of a run as its workers need them, and a hash of all that changes what is in a dataset. */
import { createHash, randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ExtractOptions } from "./ExtractOptions.ts"
import * as LocalModel from "@pi-sessions/formats/model/LocalModel"
import * as RequestContexts from "@pi-sessions/samples/RequestContexts"
import { type WorkSettings } from "./parts/WorkerPool.ts"

export interface ExtractSettings {
  readonly work: WorkSettings
  /**
   * In hex. Equal hashes and equal sessions give equal datasets. The redaction key goes into it, so that it does not tell
   * what was given as a secret.
   */
  readonly hash: string
}

/** Grows when the same settings give another dataset than before. */
const REVISION = 3

/** Reads what the options name; redacts with a key of this run alone where none is given. */
export const of = Effect.fn("ExtractSettings.of")(function* (
  options: Omit<ExtractOptions, "out"> & { readonly out?: string }
): Effect.fn.Return<ExtractSettings, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const {
    fresh: _fresh,
    ledger: _ledger,
    onProgress: _onProgress,
    onUnchanged: _onUnchanged,
    out: _out,
    tokenizer,
    ...given
  } = options
  const told = yield* RequestContexts.read(options.threads ?? [])
  const { redaction = { key: randomBytes(32).toString("hex") } } = options
  // Others give other datasets.
  const work = { ...given, redaction, told, limits: options.limits ?? {} }
  const model = tokenizer === undefined ? undefined : yield* modelIn(tokenizer)
  const identity = model === undefined ? [REVISION, work] : [REVISION, work, model.fingerprint]
  const hash = createHash("sha256").update(JSON.stringify(identity, withMaps)).digest("hex")
  return { work: model === undefined ? work : { ...work, model }, hash }
})

/** The files of a model that can be loaded. */
const modelIn = (directory: string) =>
  LocalModel.read(directory).pipe(
    Effect.tap((files) => LocalModel.make(files)),
    Effect.mapError(({ reason }) => new SessionFileError({ path: directory, operation: "read", reason }))
  )

/** Keys in the order of the alphabet, and maps as lists. */
const withMaps = (_key: string, value: unknown): unknown => {
  if (value instanceof Map) return [...value]
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
