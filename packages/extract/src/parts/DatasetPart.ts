/** What one session gives to a dataset. */
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { ReportRow, Volume } from "../ExtractReport.ts"
import { type LooseFile, StoredFile } from "../files/LooseFile.ts"
import { LinesRange } from "../files/LinesFile.ts"
import { DatasetFile } from "@pi-sessions/formats/Sample"

const facts = {
  /** Of the report; the split is not known yet. */
  row: ReportRow,
  /** The session in a line, where the format has such a file and the session gave samples. */
  sessionLine: Schema.optionalKey(Schema.String),
  /** Keys of its targets, see DistinctTargets.ts: kin that come later have them as context only. */
  held: Schema.Array(Schema.String)
}

/** What only lines of formats with a rule of their own against duplicates have. */
const lineFacts = {
  file: DatasetFile,
  /** Of lines that share one, the first is kept. */
  fingerprint: Schema.optionalKey(Schema.String),
  volume: Schema.optionalKey(Volume)
}

/** A line, in memory. */
export interface PartLine extends Omit<StoredPiece, "range"> {
  readonly line: Uint8Array
}

/** Its lines in memory, and its files. */
export interface MadePart extends Omit<StoredPart, "pieces" | "files"> {
  readonly files?: ReadonlyArray<LooseFile>
  readonly lines: ReadonlyArray<PartLine>
}

/** Lines that are written as one piece. */
export interface MadePiece extends Omit<StoredPiece, "range"> {
  readonly lines: ReadonlyArray<Uint8Array>
}

/** The pieces of a part: lines of one shape together, but for those that are told apart from each other. */
export const piecesOf = ({ lines }: MadePart): ReadonlyArray<MadePiece> => {
  const pieces: Array<MadePiece> = []
  const shapes = new Map<DatasetFile, Array<Uint8Array>>()
  for (const { line, ...told } of lines) {
    const shape = told.fingerprint === undefined ? shapes.get(told.file) : undefined
    if (shape !== undefined) shape.push(line)
    else {
      const first = [line]
      if (told.fingerprint === undefined) shapes.set(told.file, first)
      pieces.push({ ...told, lines: first })
    }
  }
  return pieces
}

/** Lines of one shape, in a file. */
export const StoredPiece = Schema.Struct({ ...lineFacts, range: LinesRange })
export type StoredPiece = typeof StoredPiece.Type

/** Its lines in files. */
export const StoredPart = Schema.Struct({
  ...facts,
  pieces: Schema.Array(StoredPiece),
  files: Schema.optionalKey(Schema.Array(StoredFile))
})
export type StoredPart = typeof StoredPart.Type

/** The part where its lines and files lie now. */
export const relocated = (
  part: StoredPart,
  linesAt: (path: string) => string,
  fileAt: (file: StoredFile) => string
): StoredPart => ({
  ...part,
  pieces: part.pieces.map((piece) => ({ ...piece, range: { ...piece.range, path: linesAt(piece.range.path) } })),
  ...(part.files === undefined ? {} : { files: part.files.map((file) => ({ ...file, path: fileAt(file) })) })
})

/** The part as it is written to a file: the folder that its lines lie in is known to the reader, and others need not see it. */
export const withoutFolder = (path: Path.Path, part: StoredPart): StoredPart =>
  relocated(
    part,
    (at) => path.basename(at),
    ({ placed }) => placed
  )
