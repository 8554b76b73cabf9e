/** The plan of a dataset in a file, so that several machines can work on one dataset. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import * as TextFile from "@pi-sessions/session-file/TextFile"
import { PlanMismatch } from "../ExtractError.ts"
import { DatasetPlan } from "./DatasetPlan.ts"
import { identity } from "./identity.ts"

const KIND = "pi-sessions/dataset-plan/2"

/** The beginning of a plan of any version. */
const BEGINNING = /^\{"kind":"pi-sessions\/dataset-plan\/\d/u
const BEGINNING_BYTES = 64

export const PlanFile = Schema.Struct({
  kind: Schema.Literal(KIND),
  /** Hash of the settings. Shards and merging must have the same. */
  settings: Schema.String,
  plan: DatasetPlan
})
const decode = Schema.decodeUnknownEffect(PlanFile)

export interface ReadPlan {
  readonly plan: DatasetPlan
  /** Of the file's bytes, in hex. Shards record it. */
  readonly sha256: string
}

/** Writes the plan, readable by its owner alone. Replaces an earlier plan, but no other file. */
export const write = Effect.fn("PlanFile.write")(function* (
  file: string,
  plan: DatasetPlan,
  settings: string
): Effect.fn.Return<void, PlanMismatch | SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const bytes = new TextEncoder().encode(`${JSON.stringify({ kind: KIND, settings, plan })}\n`)
  yield* checkPlace(file)
  yield* fs.makeDirectory(path.dirname(path.resolve(file)), { recursive: true }).pipe(
    // It names paths of this machine.
    Effect.andThen(SafeWrite.write(file, [bytes], "replace", { fileMode: 0o600 })),
    Effect.mapError(fromPlatform(file, "write"))
  )
})

/** Fails if `file` exists and is not a plan. */
export const checkPlace = Effect.fn("PlanFile.checkPlace")(function* (
  file: string
): Effect.fn.Return<void, PlanMismatch | SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const beginning = yield* fs.stream(file, { bytesToRead: BEGINNING_BYTES }).pipe(
    Stream.decodeText,
    Stream.mkString,
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(fromPlatform(file, "read"))
  )
  if (beginning === undefined || BEGINNING.test(beginning)) return
  const issue = "it is not a plan of a dataset, so it was not changed; name another file with --plan, or move it away"
  return yield* new PlanMismatch({ path: file, issue })
})

/** Reads a plan. Fails when it was made with other settings. */
export const read = Effect.fn("PlanFile.read")(function* (
  file: string,
  settings: string
): Effect.fn.Return<ReadPlan, PlanMismatch | SessionFileError, FileSystem.FileSystem> {
  const text = yield* TextFile.read(file)
  const found = yield* decode(yield* TextFile.parse(file, text)).pipe(
    Effect.mapError(() => new PlanMismatch({ path: file, issue: "it is not a plan of a dataset" }))
  )
  if (found.settings !== settings) {
    const issue =
      "it was made with other settings; give the same flags and the same redaction key as for --plan, and have the same keys, tokens and passwords in the environment (variables such as FOO_TOKEN), since these are taken out"
    return yield* new PlanMismatch({ path: file, issue })
  }
  return { plan: found.plan, sha256: createHash("sha256").update(text).digest("hex") }
})

/** Fails when one of the planned sessions is gone or has changed. */
export const checkUnchanged = Effect.fnUntraced(function* (
  planned: ReadonlyArray<SessionRef>,
  { sessions }: { readonly sessions: ReadonlyArray<SessionRef> }
): Effect.fn.Return<void, PlanMismatch> {
  const now = new Map(sessions.map((ref) => [ref.path, ref]))
  for (const ref of planned) {
    const found = now.get(ref.path)
    if (found !== undefined && identity(found) === identity(ref)) continue
    const issue = found === undefined ? "it is no longer there" : "it was changed"
    return yield* new PlanMismatch({ path: ref.path, issue: `${issue} since the plan was made; make the plan anew` })
  }
})
