/** JSON as text: its value, and the place where it stops being JSON. */
import { type Json, type JsonObject, isObject } from "./Json.ts"
import { JsonScanner } from "./internal/jsonScanner.ts"

const NEWLINE = 0x0a

/**
 * Offset of the first byte that cannot stand where it does; the length of `bytes` when they break off. Undefined when
 * they are one JSON value, white space around it allowed.
 */
export const faultIn = (bytes: Uint8Array): number | undefined => {
  // The scanner stops at a control byte behind the text.
  const ended = new Uint8Array(bytes.length + 1)
  ended.set(bytes)
  ended[bytes.length] = NEWLINE
  const scanner = new JsonScanner()
  let at = scanner.scan(ended, 0, bytes.length)
  if (at < 0) return scanner.scannedTo
  while (at < bytes.length && isSpace(bytes[at]!)) at++
  return at < bytes.length ? at : undefined
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09

/** The value, or undefined if the text is not JSON. */
export const parse = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** The object, or undefined if the text is not JSON of an object. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = parse(text)
  return value !== undefined && isObject(value) ? value : undefined
}
