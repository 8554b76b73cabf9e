/**
 * The index as the writer sees it. Rows of durable frames wait in memory until there are enough to write, and are kept
 * until they are synced, so that a failed sync loses none.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { type StoreIoError } from "../StoreError.ts"
import { type IndexExtent } from "../wire/WireField.ts"
import { AppendLog } from "../files/AppendLog.ts"

/** Rows are written when about so many bytes wait. */
const WAITING_BYTES = 1 << 16
/** Estimated bytes of a row, to decide when to write. */
const ROW_BYTES = 240

export class IndexLog {
  readonly #log: AppendLog
  #rowCount: number
  /** Rows that are not durable yet, in order; the first `#written` of them are written. */
  #rows: Array<OffsetRow.OffsetRow> = []
  #written = 0

  /** The file durably holds `extent`. */
  constructor(path: Path.Path, file: string, extent: IndexExtent) {
    this.#log = new AppendLog(path, file, extent.byte_length, extent.byte_length === 0)
    this.#rowCount = extent.row_count
  }

  /** The durable extent of the file. */
  get extent(): IndexExtent {
    return { byte_length: this.#log.durableLength, row_count: this.#rowCount - this.#rows.length }
  }

  /** Whether the index file was replaced or removed. */
  get isLost(): boolean {
    return this.#log.isLost
  }

  /** Whether enough rows wait for `write`. */
  get isFull(): boolean {
    return (this.#rows.length - this.#written) * ROW_BYTES >= WAITING_BYTES
  }

  add(rows: ReadonlyArray<OffsetRow.OffsetRow>): void {
    for (const row of rows) this.#rows.push(row)
    this.#rowCount += rows.length
  }

  /** Writes the rows that wait, without a sync. */
  readonly write = Effect.fnUntraced({ self: this }, function* (this: IndexLog): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const rows = this.#rows.slice(this.#written)
    if (rows.length > 0) yield* this.#log.write(Buffer.from(rows.map((row) => OffsetRow.encodeText(row)).join("")))
    this.#written = this.#rows.length
  })

  /** Writes and syncs all rows. After a failed sync those since the last good one are written again. */
  readonly flush = Effect.fnUntraced({ self: this }, function* (this: IndexLog): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    yield* this.write()
    if (this.#rowCount === 0) return
    yield* Effect.suspend(() => this.#log.commit()).pipe(Effect.tapCause(() => Effect.sync(() => (this.#written = 0))))
    this.#rows = []
    this.#written = 0
  })

  readonly close = Effect.suspend(() => this.#log.close)
}
