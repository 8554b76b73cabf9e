/** A buffer that moves forward over a file and reads each byte once. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type StoreIoError } from "../StoreError.ts"
import { readInto } from "../files/durable.ts"

const BUFFER_BYTES = 1 << 20

export class FileWindow {
  readonly #file: FileSystem.File
  readonly #path: string
  /** End of the readable part of the file. */
  readonly size: number
  /** Valid until `more` or `skipTo` is called. */
  bytes: Buffer
  /** Number of valid bytes in `bytes`. */
  filled = 0
  /** Current position in `bytes`; earlier bytes are dropped by `more`. */
  at = 0
  #base: number

  constructor(file: FileSystem.File, path: string, from: number, size: number) {
    this.#file = file
    this.#path = path
    this.size = size
    this.#base = from
    this.bytes = Buffer.allocUnsafe(Math.min(BUFFER_BYTES, Math.max(size - from, 1)))
  }

  /** Position of `at` in the file. */
  get offset(): number {
    return this.#base + this.at
  }

  /** Reads more, up to `needed` bytes from `at` on or beyond; false at the end of the file. */
  readonly more = Effect.fnUntraced({ self: this }, function* (this: FileWindow, needed: number): Effect.fn.Return<
    boolean,
    StoreIoError
  > {
    const rest = this.filled - this.at
    const next = needed > this.bytes.length ? Buffer.allocUnsafe(2 * needed) : this.bytes
    this.bytes.copy(next, 0, this.at, this.filled)
    this.bytes = next
    this.#base += this.at
    this.at = 0
    const wanted = Math.max(rest, Math.min(next.length, this.size - this.#base))
    const added = yield* readInto(this.#file, this.#path, this.#base + rest, next.subarray(rest, wanted))
    this.filled = rest + added
    return added > 0
  })

  /** Moves to the next occurrence of `needle` after `at`; false, at the end of the file, when there is none. */
  readonly skipTo = Effect.fnUntraced({ self: this }, function* (this: FileWindow, needle: Buffer): Effect.fn.Return<
    boolean,
    StoreIoError
  > {
    this.at = Math.min(this.at + 1, this.filled)
    for (;;) {
      const found = this.bytes.subarray(0, this.filled).indexOf(needle, this.at)
      if (found >= 0) {
        this.at = found
        return true
      }
      // The needle may begin at the end of the buffer.
      this.at = Math.max(this.at, this.filled - needle.length + 1)
      if (yield* this.more(this.filled - this.at + 1)) continue
      this.at = this.filled
      return false
    }
  })
}
