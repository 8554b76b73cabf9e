/** A timeline as text: a heading for each item, its content indented below it. Control characters are escaped here. */
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import { type TimelineItem } from "@pi-sessions/report/TimelineItem"
import { type TimelinePart } from "@pi-sessions/report/TimelinePart"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as LocalTime from "./LocalTime.ts"
import { words } from "./Words.ts"
import { type Ink, type Layout, paint } from "./ResultPrinter.ts"

const INDENT = "  "

const INKS: { readonly [K in TimelineItem["kind"]]?: Ink } = {
  session: "bold",
  user: "cyan",
  bash: "cyan",
  assistant: "green",
  compaction: "magenta",
  branch_summary: "magenta",
  label: "yellow",
  name: "yellow",
  custom_message: "blue"
}

/** A column beside the timeline. */
export interface Gutter {
  /** Width, with the blank after it. */
  readonly columns: number
  /** The mark beside an item's heading, and a remark below the item; both may be empty. */
  readonly of: (item: TimelineItem) => {
    readonly mark: string
    readonly ink: Ink | undefined
    readonly remark: string
  }
}

/** The items as lines. Items with content are separated by blank lines. */
export function* render(items: Iterable<TimelineItem>, layout: Layout, gutter?: Gutter): Generator<string> {
  const narrow = gutter === undefined ? layout : besideGutter(layout, gutter)
  let previous: "none" | "heading" | "block" = "none"
  for (const item of items) {
    const inline = inlineOutput(item)
    const body = inline === undefined ? item.parts : []
    const beside = gutter?.of(item)
    const remark = beside?.remark ?? ""
    const isBlock = body.length > 0 || item.branches.length > 0 || item.damage.length > 0 || remark !== ""
    if (previous === "block" || (isBlock && previous !== "none")) yield ""
    const lines = itemLines(item, body, inline, remark, narrow)
    if (gutter === undefined) yield* lines
    else {
      let mark = paint(layout, beside?.ink, (beside?.mark ?? "").padEnd(gutter.columns))
      for (const line of lines) {
        yield `${mark}${line}`.trimEnd()
        mark = " ".repeat(gutter.columns)
      }
    }
    previous = isBlock ? "block" : "heading"
  }
}

const besideGutter = (layout: Layout, gutter: Gutter): Layout =>
  layout.columns === undefined ? layout : { ...layout, columns: Math.max(layout.columns - gutter.columns, 1) }

function* itemLines(
  item: TimelineItem,
  body: ReadonlyArray<TimelinePart>,
  inline: OutputLine | undefined,
  remark: string,
  layout: Layout
): Generator<string> {
  yield heading(item, inline, layout)
  for (const part of body) yield* partLines(part, layout)
  yield* remarks(item, layout)
  if (remark !== "") yield* indented(remark, layout, "red", "- ")
}

interface OutputLine {
  readonly line: string
  readonly moreLines: number
}

/** The output of a tool, if it is one line and all there is to show. */
const inlineOutput = ({ parts }: TimelineItem): OutputLine | undefined => {
  const [part] = parts
  return parts.length === 1 && part?.part === "output" && part.text === undefined ? part : undefined
}

const more = ({ moreLines }: OutputLine): string =>
  moreLines === 0 ? "" : ` (+${moreLines} ${moreLines === 1 ? "line" : "lines"})`

const lineOf = ({ line }: OutputLine): string => (line === "" ? "(nothing)" : TerminalText.line(line))

/** A line with an end that is not cut off. */
const fitting = (line: string, end: string, columns: number | undefined): string =>
  columns === undefined
    ? line + end
    : TerminalText.cut(TerminalText.cut(line, Math.max(columns - TerminalText.width(end), 1)) + end, columns)

const heading = (item: TimelineItem, inline: OutputLine | undefined, layout: Layout): string => {
  const { about, entryId, failed, kind, label } = item
  const when = `${shownTime(item.time)}  ${entryId === null ? "" : `${TerminalText.line(entryId)}  `}`
  const what = `${words(kind)}${failed ? " failed" : ""}`
  const mark = label === undefined ? "" : `  [${TerminalText.line(label)}]`
  const rest = [TerminalText.line(about), ...(inline === undefined ? [] : [lineOf(inline)])]
    .filter((words) => words !== "")
    .join(": ")
  const end = inline === undefined ? "" : more(inline)
  const fits = fitting(`${when}${what}${mark}${rest === "" ? "" : ` ${rest}`}`, end, layout.columns)
  if (!layout.colours) return fits
  // Painted by position, because the line may be cut anywhere.
  const pieces: ReadonlyArray<readonly [Ink | undefined, string]> = [
    ["dim", when],
    [failed ? "red" : INKS[kind], what],
    ["yellow", mark]
  ]
  let at = 0
  let painted = ""
  for (const [ink, piece] of pieces) {
    painted += paint(layout, ink, fits.slice(at, at + piece.length))
    at += piece.length
  }
  return painted + fits.slice(at)
}

const shownTime = (time: string | undefined): string => {
  const ms = Date.parse(time ?? "")
  return Number.isNaN(ms) ? TerminalText.line(time ?? "", 19).padEnd(19, "-") : LocalTime.seconds(ms)
}

function* remarks({ branches, damage }: TimelineItem, layout: Layout): Generator<string> {
  if (branches.length > 0) yield* indented(`other branches from here: ${branches.join(", ")}`, layout, "yellow", "+ ")
  for (const { message } of damage) yield* indented(message, layout, "red", "! ")
}

function* partLines(part: TimelinePart, layout: Layout): Generator<string> {
  switch (part.part) {
    case "facts": {
      const most = Math.max(...part.facts.map(([name]) => name.length))
      for (const [name, value] of part.facts) {
        yield* indented(TerminalText.line(value), layout, undefined, `${name.padEnd(most)}  `)
      }
      return
    }
    case "text":
      return yield* indented(part.text.trimEnd(), layout)
    case "thinking":
      return yield* indented(part.redacted ? "(redacted)" : part.text, layout, "dim", "~ ", "~ ")
    case "tool_call":
      return yield* toolCall(part, layout)
    case "output":
      return yield* part.text === undefined
        ? oneLine(`< ${lineOf(part)}`, more(part), layout, "dim")
        : indented(part.text.trimEnd() || "(nothing)", layout, "dim")
    case "image":
      return yield* indented(`[image ${part.mimeType}, ${part.sizeBytes.toLocaleString("en-US")} bytes]`, layout, "dim")
    case "data":
      return yield* indented(part.json, layout, "dim", `${part.name}: `)
  }
}

function* toolCall(part: Extract<TimelinePart, { readonly part: "tool_call" }>, layout: Layout): Generator<string> {
  const { arguments: given, line, name } = part
  if (given === undefined) return yield* oneLine(`> ${TerminalText.line(`${name} ${line}`)}`, "", layout, "blue")
  yield* indented(TerminalText.line(name), layout, "blue", "> ")
  yield* argumentLines(given, layout)
}

function* argumentLines(given: JsonObject, layout: Layout): Generator<string> {
  for (const [name, value] of Object.entries(given)) {
    const text = typeof value === "string" ? value : JSON.stringify(value satisfies Json | undefined)
    const block = text.includes("\n")
    yield* indented(block ? `\n${text}` : text, layout, undefined, `  ${TerminalText.line(name)}: `, "    ")
  }
}

/** Escaped text on one indented line, cut to the width. */
function* oneLine(line: string, end: string, layout: Layout, ink: Ink): Generator<string> {
  const columns = layout.columns === undefined ? undefined : layout.columns - INDENT.length
  yield INDENT + paint(layout, ink, fitting(line, end, columns))
}

/** Text as indented, escaped and wrapped lines. `first` is before the first line, `others` before the other lines. */
export function* indented(
  text: string,
  layout: Layout,
  ink?: Ink,
  first = "",
  others = " ".repeat(first.length)
): Generator<string> {
  const harmless = TerminalText.harmless(text)
  const columns = layout.columns === undefined ? undefined : layout.columns - INDENT.length
  // A wide `first` leaves no room beside it, so it is wrapped with the text.
  const isWide = columns !== undefined && TerminalText.width(first) > columns / 2
  if (isWide) return yield* indented(`${first}${text}`, layout, ink, "", "    ")
  const room =
    columns === undefined ? undefined : columns - Math.max(TerminalText.width(first), TerminalText.width(others))
  const lines = room === undefined ? linesOf(harmless) : TerminalText.wrap(harmless, Math.max(room, 1))
  let before = first
  for (const line of lines) {
    yield `${INDENT}${paint(layout, ink, `${before}${line}`.trimEnd())}`.trimEnd()
    before = others
  }
}

/** The lines of a text, without an array of all. */
function* linesOf(text: string): Generator<string> {
  for (let start = 0; ;) {
    const end = text.indexOf("\n", start)
    if (end < 0) return yield text.slice(start)
    yield text.slice(start, end)
    start = end + 1
  }
}
