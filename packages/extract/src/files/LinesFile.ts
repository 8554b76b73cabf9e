/** A file of lines while it is written: buffered, with a SHA-256 of all of it and a CRC-32 of each range. */
import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

/** Whole lines in a file. */
export const LinesRange = Schema.Struct({
  /** Absolute. */
  path: Schema.String,
  /** In bytes. */
  offset: Schema.Int,
  bytes: Schema.Int,
  lines: Schema.Int,
  /** CRC-32 of the bytes. */
  crc32: Schema.Int
})
export type LinesRange = typeof LinesRange.Type

export interface LinesFile {
  readonly path: string
  readonly lines: () => number
  readonly bytes: () => number
  /** Of all that was added, in hex. Call it after `flush`. */
  readonly sha256: () => string
  /** Adds lines, each given without its newline. */
  readonly append: (lines: ReadonlyArray<Uint8Array>) => Effect.Effect<LinesRange, SessionFileError>
  /** Adds lines of another file. Fails when their checksum is wrong. */
  readonly copy: (range: LinesRange) => Effect.Effect<LinesRange, SessionFileError>
  /** Writes the buffer to the file. */
  readonly flush: Effect.Effect<void, SessionFileError>
  /** Writes the buffer, and syncs the file to disk. */
  readonly sync: Effect.Effect<void, SessionFileError>
}

const BUFFER_BYTES = 1 << 20
const NEWLINE = 0x0a
const END_OF_LINE = new Uint8Array([NEWLINE])

/** Creates the file, which must not exist. It is closed with the scope. */
export const create = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<LinesFile, SessionFileError, FileSystem.FileSystem | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const failed = fromPlatform(path, "write")
  const file = yield* fs.open(path, { flag: "wx" }).pipe(Effect.mapError(failed))
  const buffered = new BufferedFile((piece) => Effect.mapError(file.writeAll(piece), failed))
  let lines = 0

  const append = Effect.fnUntraced(function* (added: ReadonlyArray<Uint8Array>) {
    const offset = buffered.bytes
    let checksum = 0
    for (const line of added) {
      checksum = crc32(END_OF_LINE, crc32(line, checksum))
      if (buffered.addLine(line)) continue
      yield* buffered.add(line)
      yield* buffered.add(END_OF_LINE)
    }
    lines += added.length
    return { path, offset, bytes: buffered.bytes - offset, lines: added.length, crc32: checksum }
  })

  const copy = Effect.fnUntraced(function* (range: LinesRange) {
    const offset = buffered.bytes
    let checksum = 0
    yield* read(range).pipe(
      Stream.provideService(FileSystem.FileSystem, fs),
      Stream.runForEach((chunk) => {
        checksum = crc32(chunk, checksum)
        return buffered.add(chunk)
      })
    )
    if (checksum !== range.crc32 || buffered.bytes - offset !== range.bytes) return yield* changed(range)
    lines += range.lines
    return { ...range, path, offset }
  })

  return {
    path,
    lines: () => lines,
    bytes: () => buffered.bytes,
    sha256: () => buffered.sha256,
    append,
    copy,
    flush: buffered.flush,
    sync: Effect.andThen(buffered.flush, Effect.mapError(file.sync, failed))
  }
})

/** A buffer in front of a file, with a hash of all that was written. */
class BufferedFile {
  /** Of all that was added. */
  bytes = 0
  readonly #hash = createHash("sha256")
  readonly #buffer = new Uint8Array(BUFFER_BYTES)
  #used = 0
  readonly #writeAll: (piece: Uint8Array) => Effect.Effect<void, SessionFileError>

  constructor(writeAll: (piece: Uint8Array) => Effect.Effect<void, SessionFileError>) {
    this.#writeAll = writeAll
  }

  get sha256(): string {
    return this.#hash.copy().digest("hex")
  }

  readonly flush = Effect.suspend(() => {
    if (this.#used === 0) return Effect.void
    const piece = this.#buffer.subarray(0, this.#used)
    this.#used = 0
    return this.#write(piece)
  })

  /** Adds a line and its newline without writing. False: it does not fit into the buffer, and was not added. */
  addLine(line: Uint8Array): boolean {
    if (this.#used + line.length >= BUFFER_BYTES) return false
    this.#keep(line)
    this.#keep(END_OF_LINE)
    this.bytes += line.length + 1
    return true
  }

  add(piece: Uint8Array): Effect.Effect<void, SessionFileError> {
    this.bytes += piece.length
    if (this.#used + piece.length > BUFFER_BYTES) {
      const isLarge = piece.length >= BUFFER_BYTES
      return Effect.andThen(this.flush, isLarge ? this.#write(piece) : Effect.sync(() => this.#keep(piece)))
    }
    this.#keep(piece)
    return Effect.void
  }

  #keep(piece: Uint8Array): void {
    this.#buffer.set(piece, this.#used)
    this.#used += piece.length
  }

  #write(piece: Uint8Array): Effect.Effect<void, SessionFileError> {
    return Effect.suspend(() => {
      this.#hash.update(piece)
      return this.#writeAll(piece)
    })
  }
}

const changed = ({ path }: LinesRange): SessionFileError =>
  new SessionFileError({ path, operation: "read", reason: "it was changed since it was written" })

const read = ({ bytes, offset, path }: LinesRange) =>
  Stream.unwrap(
    Effect.map(FileSystem.FileSystem, (fs) =>
      bytes === 0
        ? Stream.empty
        : fs
            .stream(path, { chunkSize: Math.min(BUFFER_BYTES, bytes), bytesToRead: bytes, offset })
            .pipe(Stream.mapError(fromPlatform(path, "read")))
    )
  )

/** Whether the lines are in the file as they were written. */
export const isWhole = Effect.fnUntraced(function* (
  range: LinesRange
): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  let checksum = 0
  let bytes = 0
  return yield* read(range).pipe(
    Stream.runForEach((chunk) =>
      Effect.sync(() => {
        checksum = crc32(chunk, checksum)
        bytes += chunk.length
      })
    ),
    Effect.match({ onFailure: () => false, onSuccess: () => checksum === range.crc32 && bytes === range.bytes })
  )
})
