/** The plan of a dataset in a file, so that several machines can work on one dataset. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { DatasetPlan } from "./DatasetPlan.ts"
import { PlanMismatch } from "./ExtractError.ts"

const KIND = "pi-sessions/dataset-plan/1"

export const PlanFile = Schema.Struct({
  kind: Schema.Literal(KIND),
  /** Of the settings that it was made with; shards and merging must have the same. */
  settings: Schema.String,
  plan: DatasetPlan
})
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(PlanFile))

/** A plan that was read. */
export interface ReadPlan {
  readonly plan: DatasetPlan
  /** Of the file's bytes, in hex: tells shards of one plan from those of another. */
  readonly sha256: string
}

/** Writes the plan; it replaces one that is there. */
export const write = Effect.fn("PlanFile.write")(function* (
  file: string,
  plan: DatasetPlan,
  settings: string
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const bytes = new TextEncoder().encode(`${JSON.stringify({ kind: KIND, settings, plan })}\n`)
  yield* fs
    .makeDirectory(path.dirname(path.resolve(file)), { recursive: true })
    .pipe(Effect.andThen(SafeWrite.write(file, [bytes], "replace")), Effect.mapError(fromPlatform(file, "write")))
})

/** Reads a plan that was made with these settings. */
export const read = Effect.fn("PlanFile.read")(function* (
  file: string,
  settings: string
): Effect.fn.Return<ReadPlan, PlanMismatch | SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(fromPlatform(file, "read")))
  const found = yield* decode(text).pipe(
    Effect.mapError(() => new PlanMismatch({ path: file, issue: "it holds no plan of a dataset" }))
  )
  if (found.settings !== settings) {
    const issue = "it was made with other settings; give the same flags (and the same redaction key) as for --plan"
    return yield* new PlanMismatch({ path: file, issue })
  }
  return { plan: found.plan, sha256: createHash("sha256").update(text).digest("hex") }
})
