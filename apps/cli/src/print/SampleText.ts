/** Training samples as text: trained text, context, and redacted secrets and names. */
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type LocalModel } from "@pi-sessions/formats/model/LocalModel"
import * as LinePart from "@pi-sessions/formats/files/LinePart"
import { type KeptSample, type SessionSamples } from "@pi-sessions/extract/SessionSamples"
import { estimate, ofSample } from "@pi-sessions/samples/TokenCount"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type Depth } from "@pi-sessions/report/TimelineDepth"
import { type Ink, type Layout, paint } from "./ResultPrinter.ts"
import { INKS, MARKS } from "./FateGutter.ts"
import { indented } from "./TimelineText.ts"
import { counted, tally, words } from "./Words.ts"

const countNames = (names: ReadonlyArray<string>): { readonly [name: string]: number } => {
  const found: { [name: string]: number } = {}
  for (const name of names) found[name] = (found[name] ?? 0) + 1
  return found
}

/** What became of the session, and the legend of the marks. */
export function* summary(format: FormatName, made: SessionSamples, layout: Layout): Generator<string> {
  const { fates, row, samples } = made
  const kept = samples.filter((sample) => sample._tag === "Kept").length
  const refused = samples.flatMap((sample) => (sample._tag === "Refused" ? [sample.reason] : []))
  const targets = row.volume?.targets ?? 0
  const came =
    kept > 0
      ? `${counted(kept, "sample")}, ${counted(targets, "answer")} to learn`
      : refused.length > 0
        ? "no sample"
        : `no sample: ${words(row.outcome)}`
  yield* facts(`as ${format}: ${came}`, "bold", layout)
  if (refused.length > 0) yield* facts(`samples left out: ${tally(countNames(refused))}`, "red", layout)
  const reasons = fates.flatMap(({ reason }) => reason ?? [])
  const used = fates.length - reasons.length
  const rest = reasons.length === 0 ? "" : `, ${reasons.length} in none: ${tally(countNames(reasons))}`
  yield* facts(`entries: ${used} of ${fates.length} in samples${rest}`, undefined, layout)
  const redacted = row.volume?.redacted ?? {}
  if (Object.keys(redacted).length > 0)
    yield* facts(`taken out of the samples as secrets and names: ${tally(redacted)}`, "magenta", layout)
  const isPairs = fates.some(({ told }) => told.some(({ as }) => as === "rejected"))
  yield* legend(isPairs, layout)
}

function* legend(isPairs: boolean, layout: Layout): Generator<string> {
  const meanings: ReadonlyArray<readonly [Ink, mark: string, meaning: string]> = [
    [INKS.target, `${MARKS.target}n`, "learnt in sample n"],
    [INKS.context, `${MARKS.context}n`, "only read in it"],
    ...(isPairs ? [[INKS.rejected, `${MARKS.rejected}n`, "not to be said in it"] as const] : []),
    [INKS.none, "-", "in none"]
  ]
  const length = meanings.reduce((sum, [, mark, meaning]) => sum + mark.length + meaning.length + 3, -2)
  const painted = meanings.map(([ink, mark, meaning]) => `${paint(layout, ink, mark)} ${meaning}`)
  if (layout.columns === undefined || length <= layout.columns) yield painted.join(", ")
  else yield* painted
}

function* facts(text: string, ink: Ink | undefined, layout: Layout): Generator<string> {
  const harmless = TerminalText.line(text)
  const lines = layout.columns === undefined ? [harmless] : TerminalText.wrap(harmless, layout.columns)
  for (const line of lines) yield paint(layout, ink, line)
}

/** The sample as in its dataset line. Context is cut to its first lines below depth `full`. */
export function* render(
  kept: KeptSample,
  { depth, model }: { readonly depth: Depth; readonly model: LocalModel | undefined },
  layout: Layout
): Generator<string> {
  const { dropped, file, line, number, sample } = kept
  const { context, start, targets, tools_source } = sample.metadata
  const { parts, tools } = LinePart.of(line, model)
  yield* facts(
    [
      `sample ${number}`,
      `file ${file}`,
      `begins: ${words(start)}`,
      `context ${context}`,
      `${counted(targets, "answer")} to learn`,
      `${counted(tools, "tool")} (${tools_source})`,
      `about ${counted(ofSample(sample, estimate), "token")}`
    ].join(", "),
    "bold",
    layout
  )
  if (Object.keys(dropped).length > 0) yield* facts(`lost on its way: ${tally(dropped)}`, "red", layout)
  if (depth === "session") return
  if (parts.length === 0) yield* facts(line, undefined, layout)
  for (const part of parts) {
    yield ""
    yield* partLines(part, depth, layout)
  }
}

const AS = { learnt: "target", read: "context", rejected: "rejected" } as const

/** Lines of a context part that is cut, and the longest part that is not cut. */
const SHOWN_LINES = 3
const FEW_LINES = 5

function* partLines(part: LinePart.LinePart, depth: Depth, layout: Layout): Generator<string> {
  const { about, calls, text, thinking, who } = part
  const telling = AS[part.as]
  const ink = telling === "context" ? undefined : INKS[telling]
  const name = TerminalText.line([who, about].filter((word) => word !== "").join(" "))
  yield TerminalText.cut(`${MARKS[telling]} ${name}`, layout.columns ?? Number.POSITIVE_INFINITY).replace(
    /^./u,
    (mark) => paint(layout, INKS[telling], mark)
  )
  const isWhole = depth === "full" || telling !== "context"
  if (thinking !== "") yield* said(thinking, isWhole, layout, telling === "context" ? "dim" : ink, "~ ")
  if (text !== "") yield* said(text, isWhole, layout, ink, "")
  for (const call of calls) yield* said(`${call.name} ${call.arguments}`, isWhole, layout, ink, "> ")
}

function* said(text: string, isWhole: boolean, layout: Layout, ink: Ink | undefined, first: string): Generator<string> {
  const lines = text.trimEnd().split("\n")
  const shown = isWhole || lines.length <= FEW_LINES ? lines : lines.slice(0, SHOWN_LINES)
  const more = lines.length - shown.length
  // Painted line by line, so that placeholders can have their own colour.
  const plain = { ...layout, colours: false }
  for (const line of indented(shown.join("\n"), plain, undefined, first, " ".repeat(first.length))) {
    yield marked(line, ink, layout)
  }
  if (more > 0) yield paint(layout, "dim", `  (+${counted(more, "line")})`)
}

/** The placeholders of redaction. */
const PLACEHOLDER = /\[REDACTED:[^\]\s]*\]|person-\d{6}@example\.com|\b(?:user|host)-\d{6}\b/gu

const marked = (line: string, ink: Ink | undefined, layout: Layout): string => {
  if (!layout.colours) return line
  let at = 0
  let painted = ""
  for (const found of line.matchAll(PLACEHOLDER)) {
    painted += paint(layout, ink, line.slice(at, found.index)) + paint(layout, "magenta", found[0])
    at = found.index + found[0].length
  }
  return painted + paint(layout, ink, line.slice(at))
}
