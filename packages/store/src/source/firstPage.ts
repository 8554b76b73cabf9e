/**
 * Recognizes a database of lines by its first page. SQLite is not asked, because it may write files beside a database
 * that it opens.
 */

const MAGIC = "SQLite format 3\0"
const TABLE = "session_line"

/** The largest page of an SQLite database, in bytes. */
export const PAGE_BYTES_MAX = 1 << 16

const decoder = new TextDecoder("latin1")

/**
 * Whether the beginning of a file is that of a database with the table of a session: the schema of a database with one
 * table is text on its first page. Undefined when more bytes are needed; `isWhole` says that there are no more.
 */
export const hasSession = (bytes: Uint8Array, isWhole: boolean): boolean | undefined => {
  const pageBytes = pageBytesOf(bytes)
  if (pageBytes === 0) return false
  if (bytes.length < pageBytes && !isWhole) return undefined
  return decoder.decode(bytes.subarray(0, pageBytes)).includes(TABLE)
}

/** Size of a page in bytes, from the first 18 bytes of a file; 0 if it is not a SQLite database. */
const pageBytesOf = (bytes: Uint8Array): number => {
  if (bytes.length < 18 || decoder.decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) return 0
  const written = (bytes[16]! << 8) | bytes[17]!
  return written === 1 ? PAGE_BYTES_MAX : written
}
