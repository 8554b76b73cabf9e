/** Finds whole entries on a damaged line: appends that were glued to an earlier line, whole or torn. */
import { type JsonScanner, isSpace, spaceEnd } from "./jsonScanner.ts"

/**
 * End of the entry that starts at `at`, or -1. An entry is an object with a type and an id or timestamp, followed by the
 * end of the line or by another object. Inside damage it must also have a timestamp or a `parentId`: content blocks of a
 * torn message have a type and an id too.
 */
export const entryEnd = (
  scanner: JsonScanner,
  bytes: Uint8Array,
  at: number,
  end: number,
  inDamage: boolean
): number => {
  if (bytes[at] !== 0x7b) {
    scanner.scannedTo = at
    return -1
  }
  const stop = scanner.scan(bytes, at, end)
  if (stop < 0) return -1
  const { type, id, parentId, timestamp } = scanner
  if (type.start < 0 || bytes[type.start] !== 0x22) return -1
  if (timestamp.start < 0 && id.start < 0) return -1
  if (inDamage && parentId.start < 0 && bytes[timestamp.start] !== 0x22) return -1
  const next = spaceEnd(bytes, stop, end)
  return next === end || bytes[next] === 0x7b ? stop : -1
}

/**
 * The next `{"` where an entry may begin after `entryEnd` found none at `at`; -1 when there is none. Within the bytes that
 * were scanned a value is followed by a comma or a bracket, not by another entry, except at their end: the object that was
 * closed last, and a quote that closed a torn string and opens a key. Skipping the rest keeps the work linear on nested
 * objects.
 */
export const nextCandidate = (scanner: JsonScanner, bytes: Uint8Array, at: number, end: number): number => {
  const { lastObject, scannedTo } = scanner
  let to = scannedTo
  while (to > at && isSpace(bytes[to - 1]!)) to--
  const torn = to - 2
  const from = lastObject.start > at && lastObject.end === to ? lastObject.start : torn
  for (let i = Math.max(at + 1, Math.min(from, torn)); i + 1 < end; i++) {
    if (bytes[i] === 0x7b && bytes[i + 1] === 0x22) return i
  }
  return -1
}
