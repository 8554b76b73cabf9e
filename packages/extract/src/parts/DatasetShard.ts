/**
 * A shard: one of N groups of parts of a planned dataset, made by one process. Its last file, `shard.jsonl`, lists the parts and their
 * place in its files of lines. A shard with that file is complete.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { PlanMismatch } from "../ExtractError.ts"
import { type ExtractOptions } from "../ExtractOptions.ts"
import { type ReportRow, isLasting, isStopped } from "../ExtractReport.ts"
import { JournaledPart } from "../files/RunFolder.ts"
import { type DatasetPlan, type PlannedKin } from "../plan/DatasetPlan.ts"
import { type Text } from "../publish/Publication.ts"
import * as DatasetPart from "./DatasetPart.ts"
import { type StoredPart } from "./DatasetPart.ts"

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

/** Number `shard`, from 1, of the `of` shards of a plan. */
export interface ShardNumber {
  readonly shard: number
  readonly of: number
}

interface DatasetShard extends ShardNumber {
  readonly plan: string
  /** By key. */
  readonly parts: ReadonlyMap<string, StoredPart>
}

/** The groups of kin of a shard. */
export const kinOf = ({ kin }: DatasetPlan, { of, shard }: ShardNumber): ReadonlyArray<PlannedKin> =>
  kin.filter((_, at) => at % of === shard - 1)

/** What an earlier run left of a shard. */
export interface EarlierShard {
  /** Nothing is left to do. */
  readonly isComplete: boolean
  readonly rows: ReadonlyArray<ReportRow>
  /** Parts to reuse, by key. */
  readonly parts: ReadonlyMap<string, StoredPart>
}

/** The shard of this number of this plan in `out`. */
export const earlier = Effect.fnUntraced(function* (
  { fresh = false, out }: ExtractOptions,
  plan: string,
  { of, shard }: ShardNumber
): Effect.fn.Return<EarlierShard, never, FileSystem.FileSystem | Path.Path> {
  const found = yield* Effect.orElseSucceed(read(out), () => undefined)
  const isSame = found?.plan === plan && found.shard === shard && found.of === of
  if (!isSame || fresh) return { isComplete: false, rows: [], parts: new Map() }
  const parts = [...found.parts]
  const rows = parts.map(([, { row }]) => row)
  return {
    isComplete: !rows.some(isStopped) && (yield* isWhole(found)),
    rows,
    parts: new Map(parts.filter(([, { row }]) => isLasting(row)))
  }
})

/** The shard in a directory. Undefined: there is none, or it is not complete. */
const read = Effect.fn("DatasetShard.read")(function* (
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
    // The directory may come from another machine.
    const linesAt = (at: string) => path.resolve(directory, path.basename(at))
    parts.set(
      key,
      DatasetPart.relocated(part, linesAt, (file) => path.resolve(directory, file.placed))
    )
  }
  return { ...head.success, parts }
})

/** The file `shard.jsonl`. */
export const textOf = (path: Path.Path, { of, parts, plan, shard }: DatasetShard): Text => {
  const rows = [...parts].map(([key, part]) => ({ key, part: DatasetPart.withoutFolder(path, part) }))
  const lines = [{ kind: KIND, plan, shard, of }, ...rows]
  return { name: SHARD_FILE, isPrivate: true, text: lines.map((line) => `${JSON.stringify(line)}\n`).join("") }
}

/** Whether the files of a shard are as they were written. */
const isWhole = Effect.fnUntraced(function* ({
  parts
}: DatasetShard): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  for (const part of parts.values()) if (!(yield* DatasetPart.isWhole(part))) return false
  return true
})

/** Whether a directory holds a shard, complete or damaged. */
export const isOne = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<boolean, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(path.resolve(directory, SHARD_FILE)), () => "")
  return Result.isSuccess(decodeHead(text.split("\n")[0] ?? ""))
})

/** The parts of all shards of a plan, by key. Fails when a shard is missing or its files have changed. */
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
