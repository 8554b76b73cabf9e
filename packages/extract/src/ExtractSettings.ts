/** The settings of an operation as its workers need them, and their hash. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import * as LocalModel from "@pi-sessions/formats/model/LocalModel"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import * as RequestContexts from "@pi-sessions/samples/RequestContexts"
import { type SurveyOptions } from "./ExtractOptions.ts"
import { redactionOf, redactorOf } from "./parts/redactorOf.ts"
import { type WorkSettings } from "./workers/WorkerPool.ts"

export interface ExtractSettings {
  readonly work: WorkSettings
  /** For what is written beside the lines. Undefined: redaction is off. */
  readonly redactor: Redactor | undefined
  /**
   * In hex. Equal hashes and equal sessions give equal datasets. The redaction key is hashed too, so that the hash does not
   * reveal the secrets that the user gave.
   */
  readonly hash: string
}

/** Increased when the same settings give another dataset than before. */
const REVISION = 3

/** Reads the files that the options name. Makes a new redaction key when there is none. */
export const of = Effect.fn("ExtractSettings.of")(function* (
  options: SurveyOptions & { readonly out?: string; readonly ledger?: string }
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
  const requestContexts = yield* RequestContexts.read(options.threads ?? [])
  const redaction = redactionOf(options.redaction)
  // Other limits give other datasets.
  const work = { ...given, redaction, told: requestContexts, limits: options.limits ?? {} }
  const model = tokenizer === undefined ? undefined : yield* modelIn(tokenizer)
  const identity = model === undefined ? [REVISION, work] : [REVISION, work, model.fingerprint]
  const hash = createHash("sha256").update(JSON.stringify(identity, inOrder)).digest("hex")
  return { work: model === undefined ? work : { ...work, model }, redactor: redactorOf(redaction), hash }
})

/** The files of a model; fails when the model cannot be loaded. */
const modelIn = (directory: string) =>
  LocalModel.read(directory).pipe(
    Effect.tap((files) => LocalModel.make(files)),
    Effect.mapError(({ reason }) => new SessionFileError({ path: directory, operation: "read", reason }))
  )

/** Replacer for JSON: keys in alphabetical order, maps as lists. */
const inOrder = (_key: string, value: unknown): unknown => {
  if (value instanceof Map) return [...value]
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
