/**
 * Writes the parts of a dataset to its files, one group of kin after another. A part is made by a worker, or reused from
 * an earlier run, an interrupted one or a shard. The bytes are the same in each case.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ReportRow, isLasting } from "../ExtractReport.ts"
import { type DatasetFiles, type TargetFile } from "../files/DatasetFiles.ts"
import { type DatasetLayout } from "../files/DatasetLayout.ts"
import { type LinesRange } from "../files/LinesFile.ts"
import { type StoredFile } from "../files/LooseFile.ts"
import { type PlannedKin, type PlannedSession } from "../plan/DatasetPlan.ts"
import { type MadePart, type StoredPart, type StoredPiece, isWhole, piecesOf } from "./DatasetPart.ts"
import * as DistinctLines from "./distinctLines.ts"
import { keysOf } from "./partKeys.ts"
import { type Workers } from "../workers/WorkerPool.ts"

export interface AssemblyOptions {
  /** Hash of the settings. */
  readonly settings: string
  readonly workers: Workers
  /** The folder for files that workers write. */
  readonly folder: string
  /** Parts that were made before, by key. A part whose files have changed is made again. */
  readonly stored: (key: string) => StoredPart | undefined
  readonly filesOf: DatasetLayout["filesOf"]
  readonly files: DatasetFiles
  /** Drop lines that share a fingerprint with an earlier line. */
  readonly isDistinct: boolean
  /** Called with each part, in the order of the dataset. */
  readonly onPart: (written: WrittenPart) => Effect.Effect<void, SessionFileError>
}

/** A part that is in the files. */
export interface WrittenPart {
  /** Of its session, with the split. */
  readonly row: ReportRow
  /** Undefined where the format has no file of such lines, or the session is not in the dataset. */
  readonly sessionLine: string | undefined
  readonly key: string
  readonly part: StoredPart
  /** Whether a later run may reuse the part under this key. */
  readonly isLasting: boolean
}

export const assemble = Effect.fn("DatasetAssembly.assemble")(function* (
  kin: ReadonlyArray<PlannedKin>,
  options: AssemblyOptions
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem> {
  const { isDistinct, onPart, workers } = options
  const fingerprints = new Set<string>()
  const groups = Stream.fromIterable(kin)
  const parts =
    workers.width === 1
      ? Stream.flatMap(groups, (one) => partsOf(one, options))
      : groups.pipe(
          // Parts of threads are small: long lines are in files.
          Stream.mapEffect((one) => Stream.runCollect(partsOf(one, options)), { concurrency: workers.width }),
          Stream.flattenIterable
        )
  yield* Stream.runForEach(
    parts,
    Effect.fnUntraced(function* ({ isReproducible, key, part, planned }) {
      const distinct = isDistinct ? DistinctLines.of(part, fingerprints) : part
      const { held, row, sessionLine } = distinct
      const pieces = yield* placeLines(distinct, planned, options)
      const loose = yield* placeFiles(distinct, planned, options)
      const isKept = row.outcome === "kept"
      yield* onPart({
        row: isKept ? { ...row, split: planned.split } : row,
        sessionLine: isKept ? sessionLine : undefined,
        key,
        part: {
          row,
          held,
          pieces,
          ...(loose.length === 0 ? {} : { files: loose }),
          ...(sessionLine === undefined ? {} : { sessionLine })
        },
        // A part without its duplicate lines is valid only while the other session is there.
        isLasting: distinct === part && isReproducible
      })
    })
  )
})

interface KeyedPart {
  readonly key: string
  readonly planned: PlannedSession
  readonly part: MadePart | StoredPart
  /** False when this session, or one of its kin before it, was stopped: another run may give another part. */
  readonly isReproducible: boolean
}

/** The parts of one group: the stored ones at its beginning, then new ones. */
const partsOf = (
  kin: PlannedKin,
  { folder, settings, stored, workers }: AssemblyOptions
): Stream.Stream<KeyedPart, SessionFileError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const keys = keysOf(kin, settings)
      const known: Array<KeyedPart> = []
      for (const [at, planned] of kin.entries()) {
        const key = keys[at] ?? ""
        const part = stored(key)
        if (part === undefined || !(yield* isWhole(part))) break
        known.push({ key, planned, part, isReproducible: true })
      }
      let isReproducible = true
      const rest = kin.slice(known.length)
      const held = known.flatMap(({ part }) => part.held)
      const made = workers.parts({ sessions: rest.map(({ session }) => session), held }, folder).pipe(
        Stream.zipWithIndex,
        Stream.flatMap(([part, at]) => {
          const planned = rest[at]
          const key = keys[known.length + at]
          isReproducible &&= isLasting(part.row)
          return planned === undefined || key === undefined
            ? Stream.empty
            : Stream.make({ key, planned, part, isReproducible })
        })
      )
      return rest.length === 0 ? Stream.fromIterable(known) : Stream.concat(Stream.fromIterable(known), made)
    })
  )

/** Writes the lines of a part. Succeeds with their place in the first file of each line. */
const placeLines = Effect.fnUntraced(function* (
  part: MadePart | StoredPart,
  { session, split }: PlannedSession,
  { files, filesOf }: AssemblyOptions
): Effect.fn.Return<ReadonlyArray<StoredPiece>, SessionFileError> {
  const pieces: Array<StoredPiece> = []
  const place = Effect.fnUntraced(function* (
    facts: Omit<StoredPiece, "range">,
    write: (to: TargetFile) => Effect.Effect<LinesRange, SessionFileError>
  ) {
    const [first, ...others] = filesOf(split, facts.file, part.row.role ?? session.role.role)
    if (first === undefined) return
    const range = yield* write(first)
    for (const other of others) yield* write(other)
    pieces.push({ ...facts, range })
  })
  if ("pieces" in part) {
    for (const { range, ...facts } of part.pieces) yield* place(facts, (to) => files.copy(to, range))
  } else {
    for (const { lines, ...facts } of piecesOf(part)) yield* place(facts, (to) => files.append(to, lines))
  }
  return pieces
})

/** Writes the files of a part that hold no lines. */
const placeFiles = Effect.fnUntraced(function* (
  part: MadePart | StoredPart,
  { split }: PlannedSession,
  { files }: AssemblyOptions
): Effect.fn.Return<ReadonlyArray<StoredFile>, SessionFileError> {
  const placed: Array<StoredFile> = []
  for (const file of part.files ?? []) placed.push(yield* files.keep(file, split))
  return placed
})
