/**
 * What a run records for the next run to the same directory: the survey of each file, the part of each session and its place
 * in the dataset. The ledger names paths of this machine, so it is not in the dataset.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type ExtractOptions } from "../ExtractOptions.ts"
import { ExtractReport, isLasting } from "../ExtractReport.ts"
import * as RecordedSplits from "../files/RecordedSplits.ts"
import { JournaledPart } from "../files/RunFolder.ts"
import * as DatasetPart from "../parts/DatasetPart.ts"
import { type StoredPart } from "../parts/DatasetPart.ts"
import { type Listing } from "../plan/DatasetSurvey.ts"
import { identity, keyOf } from "../plan/identity.ts"
import { Look } from "../plan/SessionSurvey.ts"
import * as DatasetCard from "./DatasetCard.ts"
import * as DatasetManifest from "./DatasetManifest.ts"

const KIND = "pi-sessions/dataset-ledger/1"

/** A file of the dataset, as the run wrote it. */
const WrittenFile = Schema.Struct({ path: Schema.String, sizeBytes: Schema.Number, modifiedMs: Schema.Number })
type WrittenFile = typeof WrittenFile.Type

const Head = Schema.Struct({
  kind: Schema.Literal(KIND),
  /** Hash of the settings and the listing. */
  run: Schema.String,
  files: Schema.Array(WrittenFile),
  report: ExtractReport
})
const decodeHead = Schema.decodeUnknownResult(Schema.fromJsonString(Head))

const KeyedLook = Schema.Struct({ key: Schema.String, look: Look })
const decodeRow = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Union([KeyedLook, JournaledPart])))

interface Recorded {
  readonly looks: ReadonlyMap<string, Look>
  readonly parts: ReadonlyMap<string, StoredPart>
}

interface DatasetLedger extends Omit<typeof Head.Type, "kind">, Recorded {}

/** What an earlier run recorded. */
export interface EarlierRun extends Recorded {
  /** Hash of this run's settings and listing. */
  readonly run: string
  /** The earlier report, when nothing has changed since. */
  readonly unchanged: ExtractReport | undefined
}

/** Reads the ledger, unless the options say `fresh`. */
export const open = Effect.fn("DatasetLedger.open")(function* (
  { fresh = false, ledger: file }: ExtractOptions,
  settings: string,
  { sessions, skipped }: Listing
): Effect.fn.Return<EarlierRun, never, FileSystem.FileSystem> {
  const run = keyOf(settings, ...sessions.map(identity), ...skipped.flatMap(({ path, reason }) => [path, reason]))
  const ledger = file === undefined || fresh ? undefined : yield* read(file)
  if (ledger === undefined) return { run, unchanged: undefined, looks: new Map(), parts: new Map() }
  const isSame = ledger.run === run && ledger.report.rows.every(isLasting) && (yield* isIntact(ledger.files))
  // The getters of the ledger parse its rows, which a run without changes does not need.
  return {
    run,
    unchanged: isSame ? ledger.report : undefined,
    get looks() {
      return ledger.looks
    },
    get parts() {
      return ledger.parts
    }
  }
})

/** Writes the ledger, if the options name one. Paths of parts become those in the dataset. */
export const remember = Effect.fn("DatasetLedger.remember")(function* (
  { ledger: file, out }: ExtractOptions,
  { looks, parts, report, run }: Omit<DatasetLedger, "files">
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  if (file === undefined) return
  const path = yield* Path.Path
  const files = yield* Effect.forEach(yield* filesOf(report, out), stateOf)
  const linesAt = (at: string) => path.resolve(out, path.basename(at))
  const fileAt = ({ placed }: { readonly placed: string }) => path.resolve(out, placed)
  const inOut = new Map([...parts].map(([key, part]) => [key, DatasetPart.relocated(part, linesAt, fileAt)]))
  yield* write(file, { run, files, report, looks, parts: inOut })
})

/** The files of a dataset that only a run may change. */
const filesOf = Effect.fnUntraced(function* ({ outputs }: ExtractReport, out: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { files, loose = [], report, sidecars = [] } = outputs
  const card = path.resolve(out, DatasetCard.CARD_FILE)
  // The user may replace the card by another one.
  const isOurs = (yield* Effect.orElseSucceed(fs.readFileString(card), () => "")).includes(DatasetCard.MARK)
  return [
    ...[...files, ...loose].map((file) => path.resolve(out, file.path)),
    ...sidecars,
    report,
    ...[RecordedSplits.SPLITS_FILE, DatasetManifest.MANIFEST_FILE].map((name) => path.resolve(out, name)),
    ...(isOurs ? [card] : [])
  ]
})

/** Undefined if the ledger is missing or of another version. */
const read = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<DatasetLedger | undefined, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  const [first = "", ...rows] = text.split("\n")
  const head = decodeHead(first)
  if (Result.isFailure(head)) return undefined
  let recorded: Recorded | undefined
  return {
    ...head.success,
    get looks() {
      return (recorded ??= recordedIn(rows)).looks
    },
    get parts() {
      return (recorded ??= recordedIn(rows)).parts
    }
  }
})

const recordedIn = (rows: ReadonlyArray<string>): Recorded => {
  const looks = new Map<string, Look>()
  const parts = new Map<string, StoredPart>()
  for (const row of rows) {
    const decoded = decodeRow(row)
    if (Result.isFailure(decoded)) continue
    if ("look" in decoded.success) looks.set(decoded.success.key, decoded.success.look)
    else parts.set(decoded.success.key, decoded.success.part)
  }
  return { looks, parts }
}

const isIntact = Effect.fnUntraced(function* (files: ReadonlyArray<WrittenFile>) {
  const now = yield* Effect.option(Effect.forEach(files, ({ path }) => stateOf(path)))
  return (
    now._tag === "Some" &&
    now.value.every((file, at) => file.sizeBytes === files[at]?.sizeBytes && file.modifiedMs === files[at].modifiedMs)
  )
})

const stateOf = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(path).pipe(Effect.mapError(fromPlatform(path, "read")))
  const modifiedMs = info.mtime._tag === "Some" ? info.mtime.value.getTime() : 0
  return { path, sizeBytes: Number(info.size), modifiedMs }
})

/** Creates the directory when it is missing. Both are readable by their owner alone. */
const write = Effect.fnUntraced(function* (
  file: string,
  { files, looks, parts, report, run }: DatasetLedger
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const encoder = new TextEncoder()
  function* lines() {
    yield encoder.encode(`${JSON.stringify({ kind: KIND, run, files, report })}\n`)
    for (const [key, look] of looks) yield encoder.encode(`${JSON.stringify({ key, look })}\n`)
    for (const [key, part] of parts) yield encoder.encode(`${JSON.stringify({ key, part })}\n`)
  }
  yield* fs
    .makeDirectory(path.dirname(file), { recursive: true, mode: 0o700 })
    .pipe(
      Effect.andThen(SafeWrite.write(file, lines(), "replace", { fileMode: 0o600 })),
      Effect.mapError(fromPlatform(file, "write"))
    )
})
