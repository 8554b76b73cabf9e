/** A part: the output of one session in a dataset. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { DatasetFile } from "@pi-sessions/formats/SampleFormat"
import { ReportRow, Volume } from "../ExtractReport.ts"
import * as LinesFile from "../files/LinesFile.ts"
import { LinesRange } from "../files/LinesFile.ts"
import * as LooseFile from "../files/LooseFile.ts"
import { StoredFile } from "../files/LooseFile.ts"

/** Lines of one shape, in a file. */
export const StoredPiece = Schema.Struct({
  file: DatasetFile,
  /** Only of formats with rules against duplicates: of lines with one fingerprint the first is kept. */
  fingerprint: Schema.optionalKey(Schema.String),
  /** Only of lines with a fingerprint. */
  volume: Schema.optionalKey(Volume),
  range: LinesRange
})
export type StoredPiece = typeof StoredPiece.Type

/** A part whose lines are in files. */
export const StoredPart = Schema.Struct({
  /** Without the split, which the plan has. */
  row: ReportRow,
  /** The session's line, where the format has a file of such and the session gave samples. */
  sessionLine: Schema.optionalKey(Schema.String),
  /** Keys of its targets, see DistinctTargets.ts: they are context in later kin. */
  held: Schema.Array(Schema.String),
  pieces: Schema.Array(StoredPiece),
  files: Schema.optionalKey(Schema.Array(StoredFile))
})
export type StoredPart = typeof StoredPart.Type

/** A line in memory. */
export interface PartLine extends Omit<StoredPiece, "range"> {
  /** Without its newline. */
  readonly line: Uint8Array
}

/** A part whose lines are in memory. */
export interface MadePart extends Omit<StoredPart, "pieces" | "files"> {
  readonly lines: ReadonlyArray<PartLine>
  readonly files?: ReadonlyArray<LooseFile.LooseFile>
}

/** Lines that are written as one piece. */
interface MadePiece extends Omit<StoredPiece, "range"> {
  readonly lines: ReadonlyArray<Uint8Array>
}

/** The pieces of a part: one for each shape of lines, and one for each line with a fingerprint. */
export const piecesOf = ({ lines }: MadePart): ReadonlyArray<MadePiece> => {
  const pieces: Array<MadePiece> = []
  const shapes = new Map<DatasetFile, Array<Uint8Array>>()
  for (const { line, ...facts } of lines) {
    const shape = facts.fingerprint === undefined ? shapes.get(facts.file) : undefined
    if (shape !== undefined) shape.push(line)
    else {
      const first = [line]
      if (facts.fingerprint === undefined) shapes.set(facts.file, first)
      pieces.push({ ...facts, lines: first })
    }
  }
  return pieces
}

/** Whether the files of a part are as they were written. */
export const isWhole = Effect.fnUntraced(function* ({
  files = [],
  pieces
}: StoredPart): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  for (const file of files) if (!(yield* LooseFile.isWhole(file))) return false
  for (const { range } of pieces) if (!(yield* LinesFile.isWhole(range))) return false
  return true
})

/** The part with other paths of its lines and files. */
export const relocated = (
  part: StoredPart,
  linesAt: (path: string) => string,
  fileAt: (file: StoredFile) => string
): StoredPart => ({
  ...part,
  pieces: part.pieces.map((piece) => ({ ...piece, range: { ...piece.range, path: linesAt(piece.range.path) } })),
  ...(part.files === undefined ? {} : { files: part.files.map((file) => ({ ...file, path: fileAt(file) })) })
})

/** The part with paths relative to its folder, for files that are moved with the folder. */
export const withoutFolder = (path: Path.Path, part: StoredPart): StoredPart =>
  relocated(
    part,
    (at) => path.basename(at),
    ({ placed }) => placed
  )
