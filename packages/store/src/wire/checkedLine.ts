/**
 * A record that is one line of JSON and ends in the checksum of itself: `{...,"crc32":"0a1b2c3d"}`. Every file of a
 * store but the payloads consists of such lines, so that any torn or flipped byte shows and `jq` still reads them.
 */
import { crc32 } from "node:zlib"
import { type Json, type JsonObject, isObject } from "@pi-sessions/core/Json"

/** Bytes of `,"crc32":"0a1b2c3d"}`. */
const SUFFIX_BYTES = 20

/** The 256 pairs of hexadecimal digits: four look-ups are quicker than padding a number's digits. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

export const hex8 = (value: number): string =>
  HEX[value >>> 24]! + HEX[(value >>> 16) & 255]! + HEX[(value >>> 8) & 255]! + HEX[value & 255]!

/** The line of a record that has no `crc32` yet, newline included. */
export const seal = (record: JsonObject): Buffer => sealText(JSON.stringify(record).slice(0, -1))

/** As `seal`, of the record's text without its closing brace. */
export const sealText = (open: string): Buffer => Buffer.from(sealedText(open))

/** As `sealText`, before it is encoded. */
export const sealedText = (open: string): string => `${open},"crc32":"${hex8(crc32(open))}"}\n`

/** Whether the line `bytes[start, end)`, newline excluded, ends in the checksum of what comes before it. */
export const isSound = (bytes: Buffer, start: number, end: number): boolean => {
  const at = end - SUFFIX_BYTES
  return at > start && bytes.toString("latin1", at, end) === `,"crc32":"${hex8(crc32(bytes.subarray(start, at)))}"}`
}

/** The object of a sound line; undefined when a byte of it is torn or flipped. */
export const open = (bytes: Buffer, start: number, end: number): JsonObject | undefined => {
  if (!isSound(bytes, start, end)) return undefined
  try {
    const value: Json = JSON.parse(bytes.toString("utf8", start, end))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The bytes as a Buffer over the same memory. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
