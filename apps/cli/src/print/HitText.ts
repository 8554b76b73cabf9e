/** Hits of `search` as text. */
import type { BranchPosition, HitLine, SearchHit } from "@pi-sessions/catalog/SearchHit"
import type { CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import type { TextRange } from "@pi-sessions/catalog/SearchPattern"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type Layout, paint, pathText } from "./ResultPrinter.ts"
import * as LocalTime from "./LocalTime.ts"

/** Width of a line in a pipe. */
const PIPE_COLUMNS = 1000
/** Smallest width of a hit's text. */
const NARROWEST = 20

const timeOf = (timestamp: string | undefined): string => {
  const ms = Date.parse(timestamp ?? "")
  return Number.isNaN(ms) ? "" : LocalTime.minutes(ms)
}

/** The line above a session's hits. */
export const heading = (layout: Layout, { cwd, id, path, timestamp }: CatalogSession): ReadonlyArray<string> => {
  const facts = [timeOf(timestamp), cwd].filter((fact) => fact !== "").map((fact) => TerminalText.line(fact))
  return [
    [paint(layout, "bold", TerminalText.line(id)), ...facts].join("  "),
    paint(layout, "dim", pathText(layout, path))
  ]
}

/** The lines of one hit. */
export const lines = (layout: Layout, hit: SearchHit): ReadonlyArray<string> => {
  const what = [
    paint(layout, "cyan", TerminalText.line(hit.entryId ?? "without an id")),
    timeOf(hit.timestamp),
    hit.tool === undefined ? hit.kind : `${hit.kind} ${TerminalText.line(hit.tool)}`,
    place(hit.position),
    hit.forks.length === 0 ? "" : `also in ${hit.forks.map(({ id }) => TerminalText.line(id)).join(", ")}`
  ].filter((fact) => fact !== "")
  return [
    `  ${what.join("  ")}`,
    ...hit.lines.flatMap((line, index) => [...gap(hit.lines, index), textLine(layout, hit, line)])
  ]
}

const place = (position: BranchPosition | undefined): string => {
  if (position === undefined) return "replaced by a later entry with its id"
  return position.active ? "" : `on another branch, to ${TerminalText.line(position.leafId ?? "its end")}`
}

/** A mark between lines that are not adjacent. */
const gap = (lines: ReadonlyArray<HitLine>, index: number): ReadonlyArray<string> => {
  const before = lines[index - 1]
  return before === undefined || before.line + 1 === lines[index]?.line ? [] : ["    --"]
}

const textLine = (layout: Layout, { matches }: SearchHit, line: HitLine): string => {
  const inLine = matches
    .map(({ start, end }) => ({ start: start - line.offset, end: end - line.offset }))
    .filter(({ end, start }) => start <= line.text.length && (end > 0 || (end === 0 && start === 0)))
    .map(({ start, end }) => ({ start: Math.max(0, start), end: Math.min(line.text.length, end) }))
  const isMatch = inLine.length > 0
  const number = `    ${line.line}${isMatch ? ":" : "-"} `
  const room = Math.max(NARROWEST, (layout.columns ?? PIPE_COLUMNS) - number.length)
  const marked = marks(layout, window(line.text, inLine, room))
  return `${paint(layout, "dim", number)}${marked}`
}

const shown = (text: string): string => TerminalText.harmless(text).replaceAll("\t", "    ")

interface Window {
  readonly text: string
  readonly ranges: ReadonlyArray<TextRange>
  readonly cutBefore: boolean
  readonly cutAfter: boolean
}

/** The part of a line around its first match that fits. In a cut line the match begins after a quarter. */
const window = (text: string, ranges: ReadonlyArray<TextRange>, room: number): Window => {
  if (text.length <= room && TerminalText.width(shown(text)) <= room) {
    return { text, ranges, cutBefore: false, cutAfter: false }
  }
  const first = ranges[0]?.start ?? 0
  const isNear = first < room && TerminalText.width(shown(text.slice(0, first))) < room / 2
  const start = isNear ? 0 : first - lengthBefore(text, first, room / 4)
  const marks = (start > 0 ? 1 : 0) + 1
  let end = start
  let columns = marks
  for (const character of text.slice(start, start + room)) {
    columns += TerminalText.width(shown(character))
    if (columns > room) break
    end += character.length
  }
  return {
    text: text.slice(start, end),
    ranges: ranges
      .filter((range) => range.end >= start && range.start <= end)
      .map((range) => ({ start: Math.max(0, range.start - start), end: Math.min(end, range.end) - start })),
    cutBefore: start > 0,
    cutAfter: end < text.length
  }
}

/** Length of the characters before a place that fit into so many columns. */
const lengthBefore = (text: string, at: number, columns: number): number => {
  const characters = Array.from(text.slice(Math.max(0, at - Math.floor(columns)), at)).reverse()
  let used = 0
  let length = 0
  for (const character of characters) {
    used += TerminalText.width(shown(character))
    if (used > columns) break
    length += character.length
  }
  return length
}

const marks = (layout: Layout, { cutAfter, cutBefore, ranges, text }: Window): string => {
  let at = 0
  let line = cutBefore ? "…" : ""
  for (const { end, start } of ranges) {
    if (end <= start || start < at) continue
    line += shown(text.slice(at, start)) + paint(layout, "red", shown(text.slice(start, end)))
    at = end
  }
  return `${line}${shown(text.slice(at))}${cutAfter ? "…" : ""}`
}
