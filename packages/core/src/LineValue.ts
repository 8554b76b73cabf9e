/** What a line holds that is neither header nor entry. */
import { type Json } from "./Json.ts"
import { MAX_LINE_BYTES, type SessionLine } from "./SessionLine.ts"
import { JsonScanner } from "./internal/jsonScanner.ts"

let made: JsonScanner | undefined

/**
 * Whether the line is one JSON value. `JSON.parse` would say so too, but what it throws for a line that is none costs more
 * than reading the line, and files may have a million such lines.
 */
const isJson = ({ end, source, start }: SessionLine): boolean => {
  const scanner = (made ??= new JsonScanner())
  // The scanner wants a control byte after the last one.
  const isClosed = source[end] === 0x0a
  const bytes = isClosed ? source : new Uint8Array(end - start + 1)
  if (!isClosed) bytes.set(source.subarray(start, end))
  const [from, to] = isClosed ? [start, end] : [0, end - start]
  if (!isClosed) bytes[to] = 0x0a
  let at = scanner.scan(bytes, from, to)
  if (at < 0) return false
  while (at < to && (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d)) at++
  return at === to
}

const isWritten = ({ source, start }: SessionLine, text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (source[start + at] !== text.charCodeAt(at)) return false
  return true
}

/** The JSON value of the line; undefined for a blank, a damaged or a too long one. */
export const valueOf = (line: SessionLine): Json | undefined => {
  const length = line.end - line.start
  if (length === 4 && isWritten(line, "null")) return null
  if (length === 0 || length > MAX_LINE_BYTES || !isJson(line)) return undefined
  const value: Json = JSON.parse(line.text)
  return value
}

/** Whether nothing stands on the line but white space. */
export const isBlank = (line: SessionLine): boolean => {
  const length = line.end - line.start
  if (length === 0) return true
  const first = line.source[line.start] ?? 0
  return (first <= 0x20 || first >= 0x80) && length <= MAX_LINE_BYTES && line.text.trim() === ""
}
