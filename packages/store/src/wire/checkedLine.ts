/**
 * Lines of JSON that end in their own checksum: `{...,"crc32":"0a1b2c3d"}`. All files of a store, except payloads, consist
 * of them, so that every torn or flipped byte is detected and `jq` can read them.
 */
import { crc32 } from "node:zlib"
import { type Json, type JsonObject, isObject } from "@pi-sessions/core/Json"

/** Bytes of `,"crc32":"0a1b2c3d"}`. */
const SUFFIX_BYTES = 20

/** The 256 pairs of hexadecimal digits: four lookups are faster than padding. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

export const hex8 = (value: number): string =>
  HEX[value >>> 24]! + HEX[(value >>> 16) & 255]! + HEX[(value >>> 8) & 255]! + HEX[value & 255]!

/** The line of a record without `crc32`, newline included. */
export const seal = (record: JsonObject): Buffer => Buffer.from(sealedText(JSON.stringify(record).slice(0, -1)))

/** As `seal`, from the record's text without its closing brace, and as text. */
export const sealedText = (open: string): string => `${open},"crc32":"${hex8(crc32(open))}"}\n`

/** Whether the line `bytes[start, end)`, newline excluded, ends in its checksum. */
export const isSound = (bytes: Buffer, start: number, end: number): boolean => {
  const at = end - SUFFIX_BYTES
  return at > start && bytes.toString("latin1", at, end) === `,"crc32":"${hex8(crc32(bytes.subarray(start, at)))}"}`
}

/** The object on a line; undefined when the line is damaged. */
export const open = (bytes: Buffer, start: number, end: number): JsonObject | undefined => {
  if (!isSound(bytes, start, end)) return undefined
  try {
    const value: Json = JSON.parse(bytes.toString("utf8", start, end))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A Buffer over the same memory. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
