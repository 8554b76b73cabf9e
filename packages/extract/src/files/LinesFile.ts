/** A file of lines while it is written: in pieces of a megabyte, with a hash of all of it and a checksum of each part. */
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
  /** CRC-32 of the bytes: tells a file that was changed or torn since. */
  crc32: Schema.Int
})
export type LinesRange = typeof LinesRange.Type

export interface LinesFile {
  readonly path: string
  readonly lines: () => number
  readonly bytes: () => number
  /** Of all that was written, in hex. */
  readonly sha256: () => string
  /** Adds lines, each without its newline. */
  readonly append: (lines: ReadonlyArray<Uint8Array>) => Effect.Effect<LinesRange, SessionFileError>
  /** Adds lines that lie in another file; fails where they are not what they were. */
  readonly copy: (range: LinesRange) => Effect.Effect<LinesRange, SessionFileError>
  /** Hands to the system what is still here. */
  readonly flush: Effect.Effect<void, SessionFileError>
  /** The same, and to the disk. */
  readonly sync: Effect.Effect<void, SessionFileError>
}

const BUFFER_BYTES = 1 << 20
const NEWLINE = 0x0a

/** Makes the file, which must not exist; it is closed with the scope. */
export const create = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<LinesFile, SessionFileError, FileSystem.FileSystem | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const failed = fromPlatform(path, "write")
  const file = yield* fs.open(path, { flag: "wx" }).pipe(Effect.mapError(failed))
  const hash = createHash("sha256")
  const buffer = new Uint8Array(BUFFER_BYTES)
  let used = 0
  let bytes = 0
  let lines = 0

  const write = (piece: Uint8Array) => {
    hash.update(piece)
    return Effect.mapError(file.writeAll(piece), failed)
  }
  const flush = Effect.suspend(() => {
    if (used === 0) return Effect.void
    const piece = buffer.subarray(0, used)
    used = 0
    return write(piece)
  })
  const add = (piece: Uint8Array): Effect.Effect<void, SessionFileError> => {
    bytes += piece.length
    if (used + piece.length <= BUFFER_BYTES) {
      buffer.set(piece, used)
      used += piece.length
      return Effect.void
    }
    return Effect.andThen(flush, piece.length >= BUFFER_BYTES ? write(piece) : Effect.sync(() => keep(piece)))
  }
  const keep = (piece: Uint8Array): void => {
    buffer.set(piece, used)
    used += piece.length
  }

  const append = Effect.fnUntraced(function* (added: ReadonlyArray<Uint8Array>) {
    const offset = bytes
    let checksum = 0
    for (const line of added) {
      checksum = crc32(END_OF_LINE, crc32(line, checksum))
      // A full buffer is the only thing to wait for.
      if (used + line.length < BUFFER_BYTES) {
        keep(line)
        buffer[used++] = NEWLINE
        bytes += line.length + 1
      } else {
        yield* add(line)
        yield* add(END_OF_LINE)
      }
    }
    lines += added.length
    return { path, offset, bytes: bytes - offset, lines: added.length, crc32: checksum }
  })

  const copy = Effect.fnUntraced(function* (range: LinesRange) {
    const offset = bytes
    let checksum = 0
    yield* read(range).pipe(
      Stream.provideService(FileSystem.FileSystem, fs),
      Stream.runForEach((chunk) => {
        checksum = crc32(chunk, checksum)
        return add(chunk)
      })
    )
    if (checksum !== range.crc32 || bytes - offset !== range.bytes) return yield* changed(range)
    lines += range.lines
    return { ...range, path, offset }
  })

  return {
    path,
    lines: () => lines,
    bytes: () => bytes,
    sha256: () => hash.copy().digest("hex"),
    append,
    copy,
    flush,
    sync: Effect.andThen(flush, Effect.mapError(file.sync, failed))
  }
})

const END_OF_LINE = new Uint8Array([NEWLINE])

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

/** Whether the lines still lie there as they were written. */
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
