/** `splits.json` of a dataset: the split of each session, which later runs keep. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Split } from "@pi-sessions/formats/Split"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { PlanMismatch } from "../ExtractError.ts"
import { type Recorded, keyOf } from "../plan/Splits.ts"

export const SPLITS_FILE = "splits.json"

const KIND = "pi-sessions/splits/2"
/** The version whose keys are session ids. */
const KIND_BY_ID = "pi-sessions/splits/1"
const Record = Schema.Struct({
  kind: Schema.Literals([KIND, KIND_BY_ID]),
  /** By `Splits.keyOf` of the session id. */
  sessions: Schema.Record(Schema.String, Split)
})
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Record))

/** The splits of earlier runs; empty when there is no file. */
export const read = Effect.fn("RecordedSplits.read")(function* (
  out: string
): Effect.fn.Return<Recorded, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.resolve(out, SPLITS_FILE)
  const text = yield* fs.readFileString(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(fromPlatform(file, "read"))
  )
  if (text === undefined) return new Map()
  const { kind, sessions } = yield* decode(text).pipe(
    Effect.mapError(() => new SessionFileError({ path: file, operation: "read", reason: "no record of splits" }))
  )
  return new Map(
    Object.entries(sessions).map(([key, split]) => [kind === KIND_BY_ID ? keyOf(key) : key, split] as const)
  )
})

/** The file. Sessions that are gone stay in it. */
export const textOf = (splits: { readonly [key: string]: Split }) => {
  const sessions = Object.fromEntries(Object.entries(splits).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { name: SPLITS_FILE, text: `${JSON.stringify({ kind: KIND, sessions }, undefined, 1)}\n` }
}

/** Fails when a plan lacks a split that `out` records: merging would move sessions to another split. */
export const check = Effect.fnUntraced(function* (
  out: string,
  planned: { readonly [key: string]: Split },
  plan: string
): Effect.fn.Return<void, PlanMismatch | SessionFileError, FileSystem.FileSystem | Path.Path> {
  for (const [key, split] of yield* read(out)) {
    if (planned[key] === split) continue
    const issue = `it lacks splits that ${out}/splits.json records; make the plan again with --out ${out}`
    return yield* new PlanMismatch({ path: plan, issue })
  }
})
