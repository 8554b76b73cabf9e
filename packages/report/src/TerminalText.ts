/**
 * Text from sessions made fit for a terminal: characters that steer one (escape sequences, C0 and C1 controls), that
 * turn the direction of reading, or that hide text are shown instead of sent. What is left can neither move the cursor
 * nor look like something it is not.
 *
 * Widths are of a terminal's columns, rather too large than too small: a line that was cut to fit does fit. Emoji that
 * are put together of several take two columns like one.
 */

/**
 * Controls but newline and tab; direction marks, embeddings, overrides and isolates; separators of lines and
 * paragraphs; characters without a glyph that text can be hidden in; halves of surrogate pairs. The joiners stay:
 * scripts and emoji are written with them.
 */
const HARMFUL =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Cs}]/gu

/** How a character is shown that must not be sent: `␛`, or `<U+202E>`. */
const shown = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return "\u2421"
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** The text with its lines and tabs; CR LF is a newline. */
export const harmless = (text: string): string => text.replaceAll("\r\n", "\n").replace(HARMFUL, shown)

/** The text on one line, every blank of it as it stands: for names that somebody copies. */
export const exact = (text: string): string => text.replace(HARMFUL, shown).replace(/[\n\t]/g, shown)

/** The same JSON, harmful characters in its strings escaped: who parses it gets the very values. */
export const json = (text: string): string =>
  text.replace(HARMFUL, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      const unit = character.charCodeAt(at)
      // Between values a JSON text may hold no control but white space.
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

/** What of a line stays together: characters, and where there are pictures what a person takes for one. */
const partsOf = (line: string): Iterable<string> =>
  PICTURE.test(line) ? Array.from(graphemes.segment(line), ({ segment }) => segment) : line

const widthOfPart = (part: string): number => {
  let columns = 0
  for (const character of part) columns += widthOf(character)
  return columns > 2 && PICTURE.test(part) ? 2 : columns
}

/** Columns that a line takes which holds nothing harmful and no tab. */
export const width = (line: string): number => {
  if (ASCII.test(line)) return line.length
  let columns = 0
  for (const part of partsOf(line)) columns += widthOfPart(part)
  return columns
}

/** Marks without a width may be piled up without end: so many characters for each column are enough. */
const CHARACTERS_PER_COLUMN = 8

/** The beginning of a line that fits into so many columns, with an ellipsis where something is left out. */
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

/** The end of a line that fits into so many columns, with an ellipsis where something is left out. */
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

/** Text as one harmless line, white space between words being one blank; cut where `columns` are given. */
export const line = (text: string, columns = Number.POSITIVE_INFINITY, ellipsis = "…"): string => {
  // What cannot be seen need not be looked at, however long the text is.
  const rest = text.trimStart()
  const enough = rest.slice(0, columns * CHARACTERS_PER_COLUMN * 2)
  const one = harmless(enough.replace(/\s+/gu, " ").trim())
  if (columns === Number.POSITIVE_INFINITY) return one
  return cut(enough.length < rest.length ? one + ellipsis : one, columns, ellipsis)
}

/** Harmless text in lines that fit into so many columns, broken between words where that is possible. */
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
  /** Where the last blank since `start` ends that words stand before. */
  let blank = -1
  let usedAtBlank = 0
  let seenWord = false
  for (const part of partsOf(line)) {
    const wide = widthOfPart(part)
    while (used + wide > columns && at > start) {
      const to = blank > start ? blank : at
      yield line.slice(start, to).trimEnd()
      used = blank > start ? used - usedAtBlank : 0
      start = to
      blank = -1
    }
    at += part.length
    used += wide
    if (part !== " ") seenWord = true
    else if (seenWord) {
      blank = at
      usedAtBlank = used
    }
  }
  yield line.slice(start).trimEnd()
}
