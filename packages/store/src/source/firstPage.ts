/** What the first page of an SQLite file says without SQLite, which may write files beside a database that it opens. */

const MAGIC = "SQLite format 3\0"
const TABLE = "session_line"

const decoder = new TextDecoder("latin1")

/** Bytes of a page, from the first 18 of a file; 0 where it is no SQLite database. */
export const pageBytesOf = (bytes: Uint8Array): number => {
  if (bytes.length < 18 || decoder.decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) return 0
  const written = (bytes[16]! << 8) | bytes[17]!
  return written === 1 ? 65_536 : written
}

/** The schema of a database with one table is on its first page, as text. */
export const namesSession = (page: Uint8Array): boolean => decoder.decode(page).includes(TABLE)
