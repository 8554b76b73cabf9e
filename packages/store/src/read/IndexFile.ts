/**
 * Random access to the rows of an offset index on disk. Rows have nearly the same width, so interpolation finds one in one
 * or two reads. A damaged row makes the index unusable; the caller then reads the segments.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { type StoreIoError } from "../StoreError.ts"
import { readAt } from "../files/durable.ts"

/** A row of the index is damaged, out of order or missing. */
export class IndexUnusable extends Data.TaggedError("IndexUnusable")<{ readonly byteOffset: number }> {}

/** A row and its position in the file. */
export interface PlacedRow {
  readonly row: OffsetRow.OffsetRow
  readonly start: number
  /** After its newline. */
  readonly end: number
}

const BLOCK_BYTES = 1 << 13
const SEARCH_BYTES = 1 << 20

/** The rows on complete lines of `bytes`, up to the first damaged one. `base` is the position of `bytes` in the file. */
export const rowsIn = (
  bytes: Buffer,
  base: number
): { readonly rows: Array<PlacedRow>; readonly damagedAt: number | undefined } => {
  const rows: Array<PlacedRow> = []
  for (let at = 0; ;) {
    const newline = bytes.indexOf(0x0a, at)
    if (newline < 0) return { rows, damagedAt: undefined }
    const row = OffsetRow.decode(bytes, at, newline)
    if (row === undefined) return { rows, damagedAt: base + at }
    rows.push({ row, start: base + at, end: base + newline + 1 })
    at = newline + 1
  }
}

/** The rows that an index file had when it was opened. */
export class IndexFile {
  readonly #file: FileSystem.File
  readonly #path: string
  /** Bytes of these rows; the file may be longer. */
  readonly byteLength: number
  readonly rowCount: number

  constructor(file: FileSystem.File, path: string, byteLength: number, rowCount: number) {
    this.#file = file
    this.#path = path
    this.byteLength = byteLength
    this.rowCount = rowCount
  }

  /** Row `seq`, where `0 <= seq < rowCount`. */
  readonly locate = Effect.fnUntraced({ self: this }, function* (this: IndexFile, seq: number): Effect.fn.Return<
    PlacedRow,
    IndexUnusable | StoreIoError
  > {
    // Bounds of the row, as row numbers and bytes.
    let [lowSeq, lowByte, highSeq, highByte] = [0, 0, this.rowCount, this.byteLength]
    let block = BLOCK_BYTES
    while (lowSeq < highSeq) {
      const share = (seq - lowSeq) / (highSeq - lowSeq)
      const guess = Math.floor(lowByte + share * (highByte - lowByte))
      const from = Math.max(lowByte, guess - (block >> 1))
      const bytes = yield* this.#read(from, Math.min(block, highByte - from))
      const skipped = from === lowByte ? 0 : bytes.indexOf(0x0a) + 1
      const { rows, damagedAt } = rowsIn(bytes.subarray(skipped), from + skipped)
      if (damagedAt !== undefined) return yield* new IndexUnusable({ byteOffset: damagedAt })
      const first = rows[0]
      const last = rows.at(-1)
      if (first === undefined || last === undefined || (from !== lowByte && skipped === 0)) {
        if (from === lowByte && bytes.length === highByte - from) break
        block *= 4
        continue
      }
      const hit = rows[seq - first.row.entry_seq]
      if (hit?.row.entry_seq === seq) return hit
      if (first.row.entry_seq > seq) [highSeq, highByte] = [first.row.entry_seq, first.start]
      else if (last.row.entry_seq < seq) [lowSeq, lowByte] = [last.row.entry_seq + 1, last.end]
      else return yield* new IndexUnusable({ byteOffset: first.start })
    }
    return yield* new IndexUnusable({ byteOffset: lowByte })
  })

  /** Rows `from` to `to`, the latter excluded. */
  readonly rows = Effect.fnUntraced(
    { self: this },
    function* (
      this: IndexFile,
      from: number,
      to: number
    ): Effect.fn.Return<Array<OffsetRow.OffsetRow>, IndexUnusable | StoreIoError> {
      const found: Array<OffsetRow.OffsetRow> = []
      if (from >= to) return found
      let at = (yield* this.locate(from)).start
      const rowBytes = this.byteLength / this.rowCount
      while (found.length < to - from) {
        const wanted = Math.ceil((to - from - found.length) * rowBytes * 1.1) + BLOCK_BYTES
        const bytes = yield* this.#read(at, Math.min(wanted, SEARCH_BYTES, this.byteLength - at))
        const { rows, damagedAt } = rowsIn(bytes, at)
        for (const { row, start } of rows) {
          if (found.length === to - from) break
          if (row.entry_seq !== from + found.length) return yield* new IndexUnusable({ byteOffset: start })
          found.push(row)
        }
        const end = rows.at(-1)?.end
        if (found.length === to - from) break
        if (damagedAt !== undefined || end === undefined)
          return yield* new IndexUnusable({ byteOffset: damagedAt ?? at })
        at = end
      }
      return found
    }
  )

  /** The row of an entry id, searched from the end. Undefined only after all rows were found undamaged. */
  readonly find = Effect.fnUntraced({ self: this }, function* (this: IndexFile, entryId: string): Effect.fn.Return<
    OffsetRow.OffsetRow | undefined,
    IndexUnusable | StoreIoError
  > {
    const needle = OffsetRow.idNeedle(entryId)
    let block = SEARCH_BYTES
    for (let end = this.byteLength; end > 0;) {
      const from = Math.max(0, end - block)
      const bytes = yield* this.#read(from, end - from)
      const skipped = from === 0 ? 0 : bytes.indexOf(0x0a) + 1
      if (skipped === bytes.length || (from > 0 && skipped === 0)) {
        block *= 4
        continue
      }
      const hit = bytes.lastIndexOf(needle)
      if (hit >= skipped) {
        const start = bytes.lastIndexOf(0x0a, hit) + 1
        const row = OffsetRow.decode(bytes, start, bytes.indexOf(0x0a, hit))
        return row ?? (yield* new IndexUnusable({ byteOffset: from + start }))
      }
      end = from + skipped
    }
    yield* this.#check()
    return undefined
  })

  /** Decodes every row, a block at a time. */
  readonly #check = Effect.fnUntraced({ self: this }, function* (this: IndexFile): Effect.fn.Return<
    void,
    IndexUnusable | StoreIoError
  > {
    let seq = 0
    let block = SEARCH_BYTES
    for (let at = 0; at < this.byteLength;) {
      const bytes = yield* this.#read(at, Math.min(block, this.byteLength - at))
      const { rows, damagedAt } = rowsIn(bytes, at)
      const stray = rows.find(({ row }) => row.entry_seq !== seq++)
      if (damagedAt !== undefined || stray !== undefined) {
        return yield* new IndexUnusable({ byteOffset: damagedAt ?? stray?.start ?? at })
      }
      const end = rows.at(-1)?.end
      if (end === undefined && at + bytes.length === this.byteLength) break
      if (end === undefined) block *= 4
      else at = end
    }
    if (seq !== this.rowCount) return yield* new IndexUnusable({ byteOffset: this.byteLength })
  })

  /** Reads bytes of the rows; fails when the file became shorter. */
  readonly #read = Effect.fnUntraced(
    { self: this },
    function* (this: IndexFile, from: number, length: number): Effect.fn.Return<Buffer, IndexUnusable | StoreIoError> {
      const bytes = yield* readAt(this.#file, this.#path, from, length)
      return bytes.length === length ? bytes : yield* new IndexUnusable({ byteOffset: from + bytes.length })
    }
  )
}
