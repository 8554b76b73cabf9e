/** The lines of a file, read in pieces: its size does not matter, that of its lines does. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

export interface FileLine {
  /** Without the newline. */
  readonly bytes: Uint8Array
  /** Of its first byte. */
  readonly byteOffset: number
}

const CHUNK_BYTES = 1 << 20
const NEWLINE = 0x0a

/** The lines that end in each piece of the file, in order; the last one may lack its newline. */
export const lines = (path: string): Stream.Stream<ReadonlyArray<FileLine>, SessionFileError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.map(FileSystem.FileSystem, (fs) => {
      let byteOffset = 0
      /** The beginning of a line that goes on in the next piece. */
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
