/**
 * One of N parts of a planned dataset, made apart from the others: files of lines, and last of all `shard.jsonl`, which
 * says which lines are whose. A shard that has it is whole.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import * as DatasetAssembly from "./DatasetAssembly.ts"
import { type Text } from "../publish/Publication.ts"
import * as DatasetPart from "./DatasetPart.ts"
import { type StoredPart } from "./DatasetPart.ts"
import { PlanMismatch } from "../ExtractError.ts"
import { JournaledPart } from "../files/RunFolder.ts"

const SHARD_FILE = "shard.jsonl"
const KIND = "pi-sessions/dataset-shard/1"

const Head = Schema.Struct({
  kind: Schema.Literal(KIND),
  /** Hash of the plan's file. */
  plan: Schema.String,
  /** From 1 to `of`. */
  shard: Schema.Int,
  of: Schema.Int
})
const decodeHead = Schema.decodeUnknownResult(Schema.fromJsonString(Head))
const decodePart = Schema.decodeUnknownResult(Schema.fromJsonString(JournaledPart))

/** Which shard: I of N. */
export interface ShardNumber {
  readonly shard: number
  readonly of: number
}

export interface DatasetShard extends ShardNumber {
  readonly plan: string
  /** By key. */
  readonly parts: ReadonlyMap<string, StoredPart>
}

/** The shard in a directory; undefined where there is none, or an unfinished one. */
export const read = Effect.fn("DatasetShard.read")(function* (
  directory: string
): Effect.fn.Return<DatasetShard | undefined, PlanMismatch | SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.resolve(directory, SHARD_FILE)
  const text = yield* fs.readFileString(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(fromPlatform(file, "read"))
  )
  if (text === undefined) return undefined
  const [first = "", ...rows] = text.split("\n").slice(0, -1)
  const head = decodeHead(first)
  const damaged = new PlanMismatch({ path: file, issue: "it holds no shard of a dataset; make it anew" })
  if (Result.isFailure(head)) return yield* damaged
  const parts = new Map<string, StoredPart>()
  for (const row of rows) {
    const decoded = decodePart(row)
    if (Result.isFailure(decoded)) return yield* damaged
    const { key, part } = decoded.success
    // The directory may have been copied here from another machine.
    const linesAt = (at: string) => path.resolve(directory, path.basename(at))
    parts.set(
      key,
      DatasetPart.relocated(part, linesAt, (file) => path.resolve(directory, file.placed))
    )
  }
  return { ...head.success, parts }
})

/** What says that the shard is whole. */
export const textOf = (path: Path.Path, { of, parts, plan, shard }: DatasetShard): Text => {
  const rows = [...parts].map(([key, part]) => ({ key, part: DatasetPart.withoutFolder(path, part) }))
  const lines = [{ kind: KIND, plan, shard, of }, ...rows]
  return { name: SHARD_FILE, isPrivate: true, text: lines.map((line) => `${JSON.stringify(line)}\n`).join("") }
}

/** Whether the files of the shard are still as they were written. */
export const isWhole = Effect.fnUntraced(function* ({
  parts
}: DatasetShard): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  for (const part of parts.values()) if (!(yield* DatasetAssembly.isWhole(part))) return false
  return true
})

/** Whether a directory holds a shard, be it damaged. */
export const isOne = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<boolean, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(path.resolve(directory, SHARD_FILE)), () => "")
  return Result.isSuccess(decodeHead(text.split("\n")[0] ?? ""))
})

/** The parts of all shards of a plan, by key; fails unless every shard is there, once or more, as it was written. */
export const readAll = Effect.fn("DatasetShard.readAll")(function* (
  directories: ReadonlyArray<string>,
  file: string,
  plan: string
): Effect.fn.Return<
  ReadonlyMap<string, StoredPart>,
  PlanMismatch | SessionFileError,
  FileSystem.FileSystem | Path.Path
> {
  const parts = new Map<string, StoredPart>()
  const seen = new Set<number>()
  let of = 0
  for (const directory of directories) {
    const mismatch = (issue: string) => new PlanMismatch({ path: directory, issue })
    const shard = yield* read(directory)
    if (shard === undefined) return yield* mismatch("it holds no finished shard")
    if (shard.plan !== plan) return yield* mismatch(`it is a shard of another plan than ${file}`)
    if (of !== 0 && shard.of !== of) return yield* mismatch(`it is one of ${shard.of} shards, others are of ${of}`)
    if (!(yield* isWhole(shard))) return yield* mismatch("its files are not as they were written; make the shard anew")
    of = shard.of
    seen.add(shard.shard)
    for (const [key, part] of shard.parts) parts.set(key, part)
  }
  const missing = Array.from({ length: of }, (_, at) => at + 1).filter((number) => !seen.has(number))
  if (of > 0 && missing.length === 0) return parts
  const issue = of === 0 ? "no shards were named" : `shards are missing: ${missing.join(", ")} of ${of}`
  return yield* new PlanMismatch({ path: file, issue })
})
