/**
 * Makes text from sessions safe to print on a terminal. Escape sequences, C0 and C1 controls, bidirectional controls and
 * invisible characters are replaced by visible names, so that text cannot move the cursor or disguise itself.
 *
 * Widths are in terminal columns, rounded up where terminals differ: a line cut to fit does fit. An emoji composed of
 * several characters takes two columns.
 */

/**
 * Controls except newline and tab; direction marks, embeddings, overrides and isolates; line and paragraph separators;
 * invisible characters; unpaired surrogates. Joiners are kept: scripts and emoji need them.
 */
const HARMFUL =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Cs}]/gu

/** The visible name of a harmful character: `␛`, or `<U+202E>`. */
const visible = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return "\u2421"
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** Safe text, with its newlines and tabs. CR LF becomes a newline. */
export const harmless = (text: string): string => text.replaceAll("\r\n", "\n").replace(HARMFUL, visible)

/** Safe text on one line, with every space kept: for names that people copy. */
export const exact = (text: string): string => text.replace(HARMFUL, visible).replace(/[\n\t]/g, visible)

/** Equal JSON with the harmful characters escaped: it parses to the same value. */
export const json = (text: string): string =>
  text.replace(HARMFUL, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      const unit = character.charCodeAt(at)
      // CR occurs only between values, where an escape is not allowed.
      return unit === 0x0d ? "\r" : `\\u${unit.toString(16).padStart(4, "0")}`
    }).join("")
  )

const ZERO_WIDTH = /[\p{Mn}\p{Me}\u200c\u200d]/u
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1afff}\u{1b000}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f2ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}\p{Emoji}]/u
const ASCII = /^[\u0020-\u007e]*$/

const widthOf = (character: string): number => {
  if (character.length === 1 && character < "\u0300") return 1
  if (WIDE.test(character)) return 2
  return ZERO_WIDTH.test(character) ? 0 : 1
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })
const PICTURE = /[\p{Extended_Pictographic}\p{Regional_Indicator}]/u

/** The units that are not split: graphemes in a line with emoji, else characters. */
const partsOf = (line: string): Iterable<string> =>
  PICTURE.test(line) ? Array.from(graphemes.segment(line), ({ segment }) => segment) : line

const widthOfPart = (part: string): number => {
  let columns = 0
  for (const character of part) columns += widthOf(character)
  return columns > 2 && PICTURE.test(part) ? 2 : columns
}

/** Columns of a safe line without tabs. */
export const width = (line: string): number => {
  if (ASCII.test(line)) return line.length
  let columns = 0
  for (const part of partsOf(line)) columns += widthOfPart(part)
  return columns
}

/** Limit on characters of zero width, which can follow each other without end. */
const CHARACTERS_PER_COLUMN = 8

/** The beginning of a line, cut to `columns`; an ellipsis marks the cut. */
export const cut = (line: string, columns: number, ellipsis = "…"): string => {
  if (line.length <= columns && ASCII.test(line)) return line
  const room = columns - width(ellipsis)
  const most = columns * CHARACTERS_PER_COLUMN
  let used = 0
  let length = 0
  let fits = 0
  for (const part of partsOf(line)) {
    used += widthOfPart(part)
    length += part.length
    if (used <= room && length <= most) fits = length
    if (used > columns || length > most) return room < 0 ? "" : line.slice(0, fits) + ellipsis
  }
  return line
}

/** The end of a line, cut to `columns`; an ellipsis marks the cut. */
export const cutFront = (line: string, columns: number, ellipsis = "…"): string => {
  if (width(line) <= columns) return line
  const room = columns - width(ellipsis)
  const parts = Array.from(partsOf(line))
  let first = parts.length
  let used = 0
  while (first > 0) {
    used += widthOfPart(parts[first - 1] ?? "")
    if (used > room) break
    first--
  }
  return room < 0 ? "" : ellipsis + parts.slice(first).join("")
}

/** Text as one safe line: white space becomes single spaces. Cut to `columns`. Default: not cut. */
export const line = (text: string, columns = Number.POSITIVE_INFINITY, ellipsis = "…"): string => {
  // Reads only as much of a long text as can be visible.
  const rest = text.trimStart()
  const enough = rest.slice(0, columns * CHARACTERS_PER_COLUMN * 2)
  const one = harmless(enough.replace(/\s+/gu, " ").trim())
  if (columns === Number.POSITIVE_INFINITY) return one
  return cut(enough.length < rest.length ? one + ellipsis : one, columns, ellipsis)
}

/** Wraps safe text to `columns`, between words where possible. */
export function* wrap(text: string, columns: number): Generator<string> {
  const most = Math.max(1, columns)
  for (const whole of text.split("\n")) {
    const line = whole.replaceAll("\t", "    ").trimEnd()
    if (line.length <= most && ASCII.test(line)) yield line
    else yield* wrapLine(line, most)
  }
}

function* wrapLine(line: string, columns: number): Generator<string> {
  let start = 0
  let used = 0
  let at = 0
  /** Index after the last space since `start` that follows a word; -1 if there is none. */
  let breakAt = -1
  let usedAtBreak = 0
  let seenWord = false
  for (const part of partsOf(line)) {
    const wide = widthOfPart(part)
    while (used + wide > columns && at > start) {
      const to = breakAt > start ? breakAt : at
      yield line.slice(start, to).trimEnd()
      used = breakAt > start ? used - usedAtBreak : 0
      start = to
      breakAt = -1
    }
    at += part.length
    used += wide
    if (part !== " ") seenWord = true
    else if (seenWord) {
      breakAt = at
      usedAtBreak = used
    }
  }
  yield line.slice(start).trimEnd()
}
