/** Parses JSON text, and finds the first invalid byte of text that is not JSON. */
import { type Json, type JsonObject, isObject } from "./Json.ts"
import { JsonScanner, spaceEnd } from "./internal/jsonScanner.ts"

/**
 * Offset of the first invalid byte; the length of `bytes` when they end too early. Undefined when they are one JSON
 * value, with white space around it.
 */
export const faultIn = (bytes: Uint8Array): number | undefined => {
  // The scanner needs a control byte after the text.
  const ended = new Uint8Array(bytes.length + 1)
  ended.set(bytes)
  const scanner = new JsonScanner()
  const stop = scanner.scan(ended, 0, bytes.length)
  if (stop < 0) return scanner.scannedTo
  const at = spaceEnd(bytes, stop, bytes.length)
  return at < bytes.length ? at : undefined
}

/** The value, or undefined if the text is not JSON. */
export const parse = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** The object, or undefined if the text is not a JSON object. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = parse(text)
  return value !== undefined && isObject(value) ? value : undefined
}
