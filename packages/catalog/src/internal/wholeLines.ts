/** A file, read into one memory in pieces that end where a line does. */
import * as Effect from "effect/Effect"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ByteSink, type SearchFiles } from "../SearchFiles.ts"
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

class LineSink implements ByteSink {
  readonly #memory: ScanMemory
  readonly #look: (piece: Piece) => void
  /** Bytes at the beginning of the memory that belong to a line whose end has not been read. */
  #kept = 0
  #fileOffset = 0
  /** How long a line was for which there is no memory. */
  tooLong = 0

  constructor(memory: ScanMemory, look: (piece: Piece) => void) {
    this.#memory = memory
    this.#look = look
  }

  get fileOffset(): number {
    return this.#fileOffset
  }

  room(): Uint8Array {
    return this.#memory.bytes.subarray(this.#kept)
  }

  take(count: number): boolean {
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
    if (filled < memory.bytes.length || memory.grow()) return true
    this.tooLong = filled
    return false
  }

  /** The last line, when it has no newline. */
  end(): void {
    if (this.#kept > 0) this.#look({ memory: this.#memory, end: this.#kept, fileOffset: this.#fileOffset })
  }
}

/** Calls `look` with the pieces of a file in order. What is in memory counts during the call only. */
export const forEachPiece = (
  files: SearchFiles["Service"],
  path: string,
  memories: PieceMemory,
  look: (piece: Piece) => void
): Effect.Effect<void, SessionFileError> =>
  Effect.suspend(() => {
    const memory = memories.take()
    const sink = new LineSink(memory, look)
    return files.read(path, sink).pipe(
      Effect.andThen(() => {
        if (sink.tooLong === 0) return Effect.sync(() => sink.end())
        const reason = `the line at byte ${sink.fileOffset} has more than ${sink.tooLong} bytes, which is too long to be searched`
        return Effect.fail(new SessionFileError({ path, operation: "read", reason }))
      }),
      Effect.ensuring(Effect.sync(() => memories.giveBack(memory)))
    )
  })
