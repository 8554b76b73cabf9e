/** The lines of a file as a stream. Memory depends on the length of lines, not on the size of the file. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

export interface FileLine {
  /** Without the newline. */
  readonly bytes: Uint8Array
  /** Offset of the first byte in the file. */
  readonly byteOffset: number
}

const CHUNK_BYTES = 1 << 20
const NEWLINE = 0x0a

/** The lines that end in each chunk of the file, in order. The last line can lack its newline. */
export const lines = (path: string): Stream.Stream<ReadonlyArray<FileLine>, SessionFileError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.map(FileSystem.FileSystem, (fs) => {
      let byteOffset = 0
      /** The start of a line that continues in the next chunk. */
      let parts: Array<Uint8Array> = []
      const lineOf = (last: Uint8Array): FileLine => {
        const bytes = parts.length === 0 ? last : Buffer.concat([...parts, last])
        parts = []
        const line = { bytes, byteOffset }
        byteOffset += bytes.length + 1
        return line
      }
      const split = (chunk: Uint8Array): ReadonlyArray<FileLine> => {
        const found: Array<FileLine> = []
        let start = 0
        for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
          found.push(lineOf(chunk.subarray(start, end)))
          start = end + 1
        }
        if (start < chunk.length) parts.push(chunk.slice(start))
        return found
      }
      const rest = Stream.suspend(() => (parts.length === 0 ? Stream.empty : Stream.make([lineOf(new Uint8Array(0))])))
      return fs
        .stream(path, { chunkSize: CHUNK_BYTES })
        .pipe(Stream.mapError(fromPlatform(path, "read")), Stream.map(split), Stream.concat(rest))
    })
  )
