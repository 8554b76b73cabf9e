/** Decodes the values that the scanner found for an entry's envelope: type, role and ids. */
import * as EntryId from "../EntryId.ts"
import * as EntryType from "../EntryType.ts"
import { type Range, decodeString, isWritten } from "./jsonScanner.ts"
import { decodeUtf8 } from "./utf8.ts"

/** Frequent types and roles: each is one shared string, others are decoded for each entry. */
const KNOWN = [...EntryType.all, "session", "user", "assistant", "toolResult", "bashExecution", "system"]

/** The string value in a range; undefined when the member is absent or not a string. */
export const stringIn = (bytes: Uint8Array, range: Range): string | undefined =>
  range.start < 0 || bytes[range.start] !== 0x22 ? undefined : decodeString(bytes, range.start, range.end)

/** As `stringIn`, for a type or role; `previous` is the expected value. */
export const knownStringIn = (bytes: Uint8Array, range: Range, previous = ""): string | undefined => {
  if (range.start < 0) return undefined
  if (previous !== "" && isWritten(bytes, range, previous)) return previous
  for (const known of KNOWN) if (isWritten(bytes, range, known)) return known
  return stringIn(bytes, range)
}

const isNumberOrTrue = (first: number): boolean => first === 0x2d || first === 0x74 || (first >= 0x30 && first <= 0x39)

/** The entry id in a range; null when there is none. */
export const idIn = (bytes: Uint8Array, range: Range): string | null => {
  const { end, start } = range
  if (start >= 0 && isNumberOrTrue(bytes[start]!)) return EntryId.read(JSON.parse(decodeUtf8(bytes, start, end)))
  return stringIn(bytes, range) ?? null
}
