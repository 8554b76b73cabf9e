/** The JSON values of lines that are neither header nor entry. */
import { type Json } from "./Json.ts"
import { MAX_LINE_BYTES, type SessionLine } from "./SessionLine.ts"
import { JsonScanner, spaceEnd } from "./internal/jsonScanner.ts"

let scanner: JsonScanner | undefined

/**
 * Whether the line is one JSON value. The scanner decides: an exception of `JSON.parse` costs more than reading the line,
 * and a file can have a million damaged lines.
 */
const isJson = ({ end, source, start }: SessionLine): boolean => {
  scanner ??= new JsonScanner()
  // The scanner needs a control byte after the line. Byte 0, which ends a copy, is one.
  const isEnded = source[end] === 0x0a
  const bytes = isEnded ? source : new Uint8Array(end - start + 1)
  if (!isEnded) bytes.set(source.subarray(start, end))
  const [from, to] = isEnded ? [start, end] : [0, end - start]
  const stop = scanner.scan(bytes, from, to)
  return stop >= 0 && spaceEnd(bytes, stop, to) === to
}

const isWritten = ({ source, start }: SessionLine, text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (source[start + at] !== text.charCodeAt(at)) return false
  return true
}

/** The JSON value of the line; undefined for a blank, damaged or too long line. */
export const valueOf = (line: SessionLine): Json | undefined => {
  const length = line.end - line.start
  if (length === 4 && isWritten(line, "null")) return null
  if (length === 0 || length > MAX_LINE_BYTES || !isJson(line)) return undefined
  const value: Json = JSON.parse(line.text)
  return value
}

/** Whether the line is empty or white space. */
export const isBlank = (line: SessionLine): boolean => {
  const length = line.end - line.start
  if (length === 0) return true
  const first = line.source[line.start] ?? 0
  return (first <= 0x20 || first >= 0x80) && length <= MAX_LINE_BYTES && line.text.trim() === ""
}
