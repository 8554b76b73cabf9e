/** Drops lines whose fingerprint an earlier line of the dataset has, for formats with rules against duplicates. */
import { sum } from "@pi-sessions/samples/DropCounts"
import { type ReportRow, type Volume } from "../ExtractReport.ts"
import * as ReportTally from "../publish/reportTally.ts"
import { type MadePart, type StoredPart } from "./DatasetPart.ts"

/** The same object when nothing is dropped. Adds the fingerprints to `known`. */
export const of = (part: MadePart | StoredPart, known: Set<string>): MadePart | StoredPart => {
  const isNew = ({ fingerprint }: { readonly fingerprint?: string }): boolean => {
    if (fingerprint === undefined) return true
    const isKnown = known.has(fingerprint)
    known.add(fingerprint)
    return !isKnown
  }
  if ("pieces" in part) {
    const pieces = part.pieces.filter(isNew)
    if (pieces.length === part.pieces.length) return part
    return { ...part, pieces, row: rowWithout(part.row, part.pieces, pieces) }
  }
  const lines = part.lines.filter(isNew)
  if (lines.length === part.lines.length) return part
  return { ...part, lines, row: rowWithout(part.row, part.lines, lines) }
}

interface HasVolume {
  readonly volume?: Volume
}

/** The row of a session that lost lines. */
const rowWithout = (row: ReportRow, all: ReadonlyArray<HasVolume>, left: ReadonlyArray<HasVolume>): ReportRow => {
  const { volume, ...rest } = row
  const samples_dropped = sum([row.samples_dropped ?? {}, { duplicate_line: all.length - left.length }])
  if (left.length === 0 || volume === undefined) return { ...rest, samples_dropped, outcome: "duplicate_line" }
  const totalOf = (lines: ReadonlyArray<HasVolume>) =>
    ReportTally.sumVolumes(lines.flatMap((line) => line.volume ?? []))
  const total = totalOf(left)
  const { diagnostics, redacted } = volume
  // Counts of the session as a whole, which no line has.
  const ofLines = totalOf(all).dropped
  const ofSession = Object.entries(volume.dropped).flatMap(([reason, count]) => {
    const whole = count - (ofLines[reason] ?? 0)
    return whole === 0 ? [] : [{ [reason]: whole }]
  })
  return {
    ...rest,
    samples_dropped,
    volume: { ...total, redacted, diagnostics, dropped: sum([total.dropped, ...ofSession]) }
  }
}
