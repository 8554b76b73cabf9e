/**
 * The parts of a dataset in its files: group of kin after group, each part made by a worker, or taken from where an
 * earlier run, an interrupted one or a shard left it. The same plan and settings give the same bytes, whoever made what.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { type DatasetFiles, type TargetFile } from "../files/DatasetDirectory.ts"
import { type MadePart, type StoredPart, type StoredPiece, piecesOf } from "./DatasetPart.ts"
import { type PlannedKin, type PlannedSession } from "../plan/DatasetPlan.ts"
import { sum } from "@pi-sessions/samples/DropCounts"
import { type ReportRow, type Volume, isLasting } from "../ExtractReport.ts"
import * as LooseFile from "../files/LooseFile.ts"
import * as LinesFile from "../files/LinesFile.ts"
import { type DatasetFile } from "@pi-sessions/formats/Sample"
import { type Split } from "@pi-sessions/formats/Split"
import { type Workers } from "./WorkerPool.ts"
import * as ReportTally from "../publish/reportTally.ts"

/** What a session's lines look like in a file system, as far as it is asked. */
export const identity = ({ modifiedMs, path, sizeBytes }: SessionRef): string => `${path}\0${sizeBytes}\0${modifiedMs}`

/**
 * A key for each part of kin: equal keys, equal parts. It is made of the settings, of the session and of those before it,
 * since what they have as targets is not a target again.
 */
export const keysOf = (kin: PlannedKin, settings: string): ReadonlyArray<string> => {
  const hash = createHash("sha256").update(settings)
  return kin.map(({ session }) =>
    hash
      .update(`\0${identity(session.ref)}`)
      .copy()
      .digest("hex")
      .slice(0, 32)
  )
}

export interface AssemblyOptions {
  readonly settings: string
  /** Makes parts; none where all of them must be there already. */
  readonly workers: Workers
  /** Where workers that write files write them. */
  readonly folder: string
  /** What was made before, by key. */
  readonly stored: (key: string) => StoredPart | undefined
  /** Whether what was made before may have changed since. */
  readonly mayBeTorn: boolean
  /** The files that lines go to; the first one is where they are found again. */
  readonly filesOf: (split: Split, file: DatasetFile, role: GasTown.Role) => ReadonlyArray<TargetFile>
  readonly files: DatasetFiles
  /** Whether lines that share a fingerprint with an earlier one are left out. */
  readonly isDistinct: boolean
  /** Called with each part, in their order. */
  readonly onPart: (written: WrittenPart) => Effect.Effect<void, SessionFileError>
}

/** A part that is in the files. */
export interface WrittenPart {
  /** Of its session, with the split. */
  readonly row: ReportRow
  readonly sessionLine: string | undefined
  readonly key: string
  readonly part: StoredPart
  /** Whether another run would make the same of the session, as far as it is the same. */
  readonly isLasting: boolean
}

/** Writes the parts of all kin, in their order. */
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
          // Parts of workers are small: their lines are in files.
          Stream.mapEffect((one) => Stream.runCollect(partsOf(one, options)), { concurrency: workers.width }),
          Stream.flattenIterable
        )
  yield* Stream.runForEach(
    parts,
    Effect.fnUntraced(function* ({ isReproducible, key, part, planned }) {
      const distinct = isDistinct ? withoutKnown(part, fingerprints) : part
      const pieces = yield* place(distinct, planned, options)
      const loose = yield* placeFiles(part, planned, options)
      const { held, row, sessionLine } = distinct
      const isKept = row.outcome === "kept"
      const stored: StoredPart = {
        row,
        held,
        pieces,
        ...(loose.length === 0 ? {} : { files: loose }),
        ...(sessionLine === undefined ? {} : { sessionLine })
      }
      yield* onPart({
        row: isKept ? { ...row, split: planned.split } : row,
        sessionLine: isKept ? sessionLine : undefined,
        key,
        part: stored,
        // What lost lines to others may get them back when those are gone.
        isLasting: distinct === part && isReproducible
      })
    })
  )
})

interface KeyedPart {
  readonly key: string
  readonly planned: PlannedSession
  readonly part: MadePart | StoredPart
  /** Whether another run makes the same: not where this session or one of its kin before it failed for now. */
  readonly isReproducible: boolean
}

/** As much as there is of what was made before, then what is made now. */
const partsOf = (
  kin: PlannedKin,
  { folder, mayBeTorn, settings, stored, workers }: AssemblyOptions
): Stream.Stream<KeyedPart, SessionFileError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const keys = keysOf(kin, settings)
      const known: Array<KeyedPart> = []
      for (const [at, planned] of kin.entries()) {
        const key = keys[at] ?? ""
        const part = stored(key)
        if (part === undefined || (mayBeTorn && !(yield* isWhole(part)))) break
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

/** Whether what was made before lies there as it was written. */
export const isWhole = Effect.fnUntraced(function* ({
  files = [],
  pieces
}: StoredPart): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  for (const file of files) if (!(yield* LooseFile.isWhole(file))) return false
  for (const { range } of pieces) if (!(yield* LinesFile.isWhole(range))) return false
  return true
})

/** Writes lines to their files, and tells where they lie in the first of these. */
const place = Effect.fnUntraced(function* (
  part: MadePart | StoredPart,
  { session, split }: PlannedSession,
  { files, filesOf }: AssemblyOptions
): Effect.fn.Return<ReadonlyArray<StoredPiece>, SessionFileError> {
  const pieces: Array<StoredPiece> = []
  const add = Effect.fnUntraced(function* (
    told: Omit<StoredPiece, "range">,
    write: (to: TargetFile) => Effect.Effect<LinesFile.LinesRange, SessionFileError>
  ) {
    const [first, ...others] = filesOf(split, told.file, part.row.role ?? session.role.role)
    if (first === undefined) return
    const range = yield* write(first)
    for (const other of others) yield* write(other)
    pieces.push({ ...told, range })
  })
  if ("pieces" in part) {
    for (const { range, ...told } of part.pieces) yield* add(told, (to) => files.copy(to, range))
    return pieces
  }
  for (const { lines, ...told } of piecesOf(part)) yield* add(told, (to) => files.append(to, lines))
  return pieces
})

/** Writes what is no line. */
const placeFiles = Effect.fnUntraced(function* (
  part: MadePart | StoredPart,
  { split }: PlannedSession,
  { files }: AssemblyOptions
): Effect.fn.Return<ReadonlyArray<LooseFile.StoredFile>, SessionFileError> {
  const placed: Array<LooseFile.StoredFile> = []
  for (const file of part.files ?? []) placed.push(yield* files.keep(file, split))
  return placed
})

/** The part without lines that share a fingerprint with an earlier one; the part itself where there are none. */
const withoutKnown = (part: MadePart | StoredPart, known: Set<string>): MadePart | StoredPart => {
  const isNew = ({ fingerprint }: { readonly fingerprint?: string }): boolean => {
    if (fingerprint === undefined) return true
    const isKnown = known.has(fingerprint)
    known.add(fingerprint)
    return !isKnown
  }
  if ("pieces" in part) {
    const pieces = part.pieces.filter(isNew)
    return pieces.length === part.pieces.length
      ? part
      : { ...part, pieces, row: shortened(part.row, part.pieces, pieces) }
  }
  const lines = part.lines.filter(isNew)
  return lines.length === part.lines.length ? part : { ...part, lines, row: shortened(part.row, part.lines, lines) }
}

interface HasVolume {
  readonly volume?: Volume
}

/** The row of a session that lost lines. */
const shortened = (row: ReportRow, all: ReadonlyArray<HasVolume>, left: ReadonlyArray<HasVolume>): ReportRow => {
  const { volume, ...rest } = row
  const samples_dropped = sum([row.samples_dropped ?? {}, { duplicate_line: all.length - left.length }])
  if (left.length === 0 || volume === undefined) return { ...rest, samples_dropped, outcome: "duplicate_line" }
  const of = (lines: ReadonlyArray<HasVolume>) => ReportTally.sumVolumes(lines.flatMap((line) => line.volume ?? []))
  const total = of(left)
  const { diagnostics, redacted } = volume
  // What the session lost as a whole, it lost still.
  const wasDropped = of(all).dropped
  const ofSession = Object.entries(volume.dropped).flatMap(([reason, count]) => {
    const whole = count - (wasDropped[reason] ?? 0)
    return whole === 0 ? [] : [{ [reason]: whole }]
  })
  return {
    ...rest,
    samples_dropped,
    volume: { ...total, redacted, diagnostics, dropped: sum([total.dropped, ...ofSession]) }
  }
}
