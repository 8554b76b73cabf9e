/** A file, read into one memory in pieces that end where a line does. */
import * as Effect from "effect/Effect"
import { MAX_LINE_BYTES } from "@pi-sessions/core/SessionLine"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ByteSink, type SearchFiles } from "../../SearchFiles.ts"
import { ScanMemory } from "./byteScan.ts"

/** Pieces of this size stay in the processor's cache between reading and looking. */
const PIECE_BYTES = 256 << 10
/** Memory that was made for a very long line is not kept for other files. */
const KEPT_BYTES = 4 << 20

const NEWLINE = 0x0a

/** Lines in memory: whole ones, each but the last of a file with its newline. */
export interface Piece {
  readonly memory: ScanMemory
  readonly end: number
  /** Where byte 0 of the memory stands in the file. */
  readonly fileOffset: number
}

/** Memory for one file after another. */
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

/** A line that has too many bytes to be read was passed over. */
export type OnLongLine = (byteOffset: number, bytes: number) => void

class LineSink implements ByteSink {
  readonly #memory: ScanMemory
  readonly #look: (piece: Piece) => void
  /** Bytes at the beginning of the memory that belong to a line whose end has not been read. */
  #kept = 0
  #fileOffset = 0
  /** Bytes of a line that is passed over, so far. */
  #passed = 0
  readonly #passOver: OnLongLine

  constructor(memory: ScanMemory, look: (piece: Piece) => void, passOver: OnLongLine) {
    this.#memory = memory
    this.#look = look
    this.#passOver = passOver
  }

  room(): Uint8Array {
    return this.#memory.bytes.subarray(this.#kept, this.#kept + PIECE_BYTES)
  }

  take(count: number): true {
    if (this.#passed > 0) return this.#pass(count)
    const memory = this.#memory
    const filled = this.#kept + count
    const newline = memory.bytes.subarray(this.#kept, filled).lastIndexOf(NEWLINE)
    if (newline >= 0) {
      const end = this.#kept + newline + 1
      this.#look({ memory, end, fileOffset: this.#fileOffset })
      memory.bytes.copyWithin(0, end, filled)
      this.#kept = filled - end
      this.#fileOffset += end
      return true
    }
    this.#kept = filled
    if (filled > MAX_LINE_BYTES || (filled === memory.bytes.length && !memory.grow())) {
      this.#passed = filled
      this.#kept = 0
    }
    return true
  }

  /** Takes the next bytes of a line that is passed over. */
  #pass(count: number): true {
    const { bytes } = this.#memory
    const newline = bytes.subarray(0, count).indexOf(NEWLINE)
    if (newline < 0) {
      this.#passed += count
      return true
    }
    const lineBytes = this.#passed + newline
    this.#passOver(this.#fileOffset, lineBytes)
    this.#passed = 0
    this.#fileOffset += lineBytes + 1
    bytes.copyWithin(0, newline + 1, count)
    return count > newline + 1 ? this.take(count - newline - 1) : true
  }

  /** The last line, when it has no newline. */
  end(): void {
    if (this.#passed > 0) this.#passOver(this.#fileOffset, this.#passed)
    if (this.#kept > 0) this.#look({ memory: this.#memory, end: this.#kept, fileOffset: this.#fileOffset })
  }
}

/**
 * Calls `look` with the pieces of a file in order. What is in memory counts during the call only. Lines of more than
 * `MAX_LINE_BYTES`, and those that there is no memory for, are passed over.
 */
export const forEachPiece = (
  files: SearchFiles["Service"],
  path: string,
  memories: PieceMemory,
  look: (piece: Piece) => void,
  passOver: OnLongLine = () => {}
): Effect.Effect<void, SessionFileError> =>
  Effect.suspend(() => {
    const memory = memories.take()
    const sink = new LineSink(memory, look, passOver)
    return files
      .read(path, sink)
      .pipe(
        Effect.andThen(Effect.sync(() => sink.end())),
        Effect.ensuring(Effect.sync(() => memories.giveBack(memory)))
      )
  })
