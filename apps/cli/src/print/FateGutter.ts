/** The column beside a timeline that shows in which samples each entry is trained or context. */
import { type EntryFate, type Telling } from "@pi-sessions/samples/EntryFates"
import { type TimelineItem } from "@pi-sessions/report/TimelineItem"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type Ink } from "./ResultPrinter.ts"
import { type Gutter } from "./TimelineText.ts"
import { words } from "./Words.ts"

/** The mark of each use; `-` for none. */
export const MARKS: { readonly [T in Telling]: string } = { target: "T", context: "c", rejected: "r" }

export const INKS: { readonly [T in Telling | "none"]: Ink } = {
  target: "green",
  context: "cyan",
  rejected: "yellow",
  none: "red"
}

/** Width of the column; marks of an entry in many samples are cut. */
const COLUMNS_MAX = 12

/** `1-3,7` */
const ranges = (numbers: ReadonlyArray<number>): string => {
  const parts: Array<string> = []
  for (let from = 0; from < numbers.length;) {
    let to = from
    while (numbers[to + 1] === (numbers[to] ?? 0) + 1) to++
    parts.push(to === from ? String(numbers[from]) : `${numbers[from]}-${numbers[to]}`)
    from = to + 1
  }
  return parts.join(",")
}

/** `T1 c2-4`, or `-`. */
export const markOf = ({ told }: EntryFate): string => {
  if (told.length === 0) return "-"
  const tellings: ReadonlyArray<Telling> = ["target", "rejected", "context"]
  return tellings
    .flatMap((telling) => {
      const numbers = told.flatMap(({ as, sample }) => (as === telling ? [sample] : []))
      return numbers.length === 0 ? [] : [`${MARKS[telling]}${ranges(numbers)}`]
    })
    .join(" ")
}

const remarkOf = ({ lost, reason }: EntryFate): string => {
  if (reason !== undefined) return `in no sample: ${words(reason)}`
  return lost.length === 0 ? "" : `without: ${lost.map(words).join(", ")}`
}

const inkOf = ({ told }: EntryFate): Ink =>
  INKS[(["target", "rejected", "context"] as const).find((one) => told.some(({ as }) => as === one)) ?? "none"]

/** Key of an entry: a damaged line can hold several. */
const keyOf = (line: number, id: string | null): string => `${line} ${id ?? ""}`

export const of = (fates: ReadonlyArray<EntryFate>): Gutter => {
  const byEntry = new Map(fates.map((fate) => [keyOf(fate.entry.line, fate.entry.id), fate]))
  const widest = fates.reduce((most, fate) => Math.max(most, markOf(fate).length), 1)
  const columns = Math.min(widest, COLUMNS_MAX)
  return {
    columns: columns + 1,
    of: ({ entryId, line }: TimelineItem) => {
      const fate = byEntry.get(keyOf(line, entryId))
      if (fate === undefined) return { mark: "", ink: undefined, remark: "" }
      return { mark: TerminalText.cut(markOf(fate), columns), ink: inkOf(fate), remark: remarkOf(fate) }
    }
  }
}
