/** Reads a file in pieces that end at a line break. */
import * as Effect from "effect/Effect"
import { MAX_LINE_BYTES } from "@pi-sessions/core/SessionLine"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ByteSink, type SearchFiles } from "../../SearchFiles.ts"
import { ScanMemory } from "./byteScan.ts"

/** Pieces of this size stay in the processor's cache between reading and scanning. */
const PIECE_BYTES = 256 << 10
/** Memory larger than this, allocated for a long line, is not reused for other files. */
const KEPT_BYTES = 4 << 20

export const NEWLINE = 0x0a

/** Whole lines in memory, from 0 to `end`. Only the last line of a file may lack its newline. */
export interface Piece {
  readonly memory: ScanMemory
  readonly end: number
  /** Offset in the file of byte 0 of the memory. */
  readonly fileOffset: number
}

/** Memory that is reused for one file after another. */
export class PieceMemory {
  #memory: ScanMemory | undefined

  take(): ScanMemory {
    const memory = this.#memory ?? new ScanMemory(PIECE_BYTES)
    this.#memory = undefined
    return memory
  }

  giveBack(memory: ScanMemory): void {
    if (memory.bytes.length < KEPT_BYTES) this.#memory = memory
  }
}

/** Receives the offset and length of a line that was skipped because it is too long. */
export type OnLongLine = (byteOffset: number, bytes: number) => void

class LineSink implements ByteSink {
  readonly #memory: ScanMemory
  readonly #scan: (piece: Piece) => void
  /** Bytes at the beginning of the memory of a line whose end has not been read. */
  #kept = 0
  #fileOffset = 0
  /** Bytes so far of a line that is skipped. */
  #skipped = 0
  readonly #onLongLine: OnLongLine

  constructor(memory: ScanMemory, scan: (piece: Piece) => void, onLongLine: OnLongLine) {
    this.#memory = memory
    this.#scan = scan
    this.#onLongLine = onLongLine
  }

  room(): Uint8Array {
    return this.#memory.bytes.subarray(this.#kept, this.#kept + PIECE_BYTES)
  }

  take(count: number): true {
    if (this.#skipped > 0) return this.#skip(count)
    const memory = this.#memory
    const filled = this.#kept + count
    const newline = memory.bytes.subarray(this.#kept, filled).lastIndexOf(NEWLINE)
    if (newline >= 0) {
      const end = this.#kept + newline + 1
      this.#scan({ memory, end, fileOffset: this.#fileOffset })
      memory.bytes.copyWithin(0, end, filled)
      this.#kept = filled - end
      this.#fileOffset += end
      return true
    }
    this.#kept = filled
    if (filled > MAX_LINE_BYTES || (filled === memory.bytes.length && !memory.grow())) {
      this.#skipped = filled
      this.#kept = 0
    }
    return true
  }

  /** Takes the next bytes of a line that is skipped. */
  #skip(count: number): true {
    const { bytes } = this.#memory
    const newline = bytes.subarray(0, count).indexOf(NEWLINE)
    if (newline < 0) {
      this.#skipped += count
      return true
    }
    const lineBytes = this.#skipped + newline
    this.#onLongLine(this.#fileOffset, lineBytes)
    this.#skipped = 0
    this.#fileOffset += lineBytes + 1
    bytes.copyWithin(0, newline + 1, count)
    return count > newline + 1 ? this.take(count - newline - 1) : true
  }

  /** Takes the last line if it has no newline. */
  end(): void {
    if (this.#skipped > 0) this.#onLongLine(this.#fileOffset, this.#skipped)
    if (this.#kept > 0) this.#scan({ memory: this.#memory, end: this.#kept, fileOffset: this.#fileOffset })
  }
}

/**
 * Calls `scan` with the pieces of a file in order; a piece is valid during the call only. Skips lines longer than
 * `MAX_LINE_BYTES`, and those that do not fit in memory.
 */
export const forEachPiece = (
  files: SearchFiles["Service"],
  path: string,
  memories: PieceMemory,
  scan: (piece: Piece) => void,
  onLongLine: OnLongLine = () => {}
): Effect.Effect<void, SessionFileError> =>
  Effect.suspend(() => {
    const memory = memories.take()
    const sink = new LineSink(memory, scan, onLongLine)
    return files
      .read(path, sink)
      .pipe(
        Effect.andThen(Effect.sync(() => sink.end())),
        Effect.ensuring(Effect.sync(() => memories.giveBack(memory)))
      )
  })
