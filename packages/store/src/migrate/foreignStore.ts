/** Stores other than containers, as streams of bytes: a migration reads them, and a rollback writes them. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import * as SqliteV1 from "../SqliteV1.ts"
import { type StoreIoError } from "../StoreError.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { openFile, readAt, renameDurably, sync, withFile, writeFully } from "../files/durable.ts"

/** Formats that a container is migrated from and rolled back to. */
export type ForeignFormat = "jsonl_v3" | "sqlite_v1"

export const isForeign = (format: Snapshot["format"]): format is ForeignFormat => format !== "native_v2"

const CHUNK_BYTES = 1 << 20

/** The session's bytes as JSONL. */
export const readBytes = (
  format: ForeignFormat,
  path: string
): Stream.Stream<Uint8Array, StoreIoError, Sqlite | FileSystem.FileSystem> =>
  format === "sqlite_v1"
    ? SqliteV1.read(path)
    : Stream.unwrap(
        Effect.map(
          Effect.acquireRelease(openFile(path, "r"), (opened) => Effect.ignore(opened.close)),
          ({ file }) =>
            Stream.paginate(0, (offset) =>
              Effect.map(readAt(file, path, offset, CHUNK_BYTES), (bytes) => [
                bytes.length === 0 ? [] : [bytes],
                bytes.length < CHUNK_BYTES ? Option.none() : Option.some(offset + bytes.length)
              ])
            )
        )
      )

/** Writes a session to a new store at `path`; each piece is one line. */
export const writeBytes = Effect.fnUntraced(function* <E>(
  format: ForeignFormat,
  path: string,
  pieces: Stream.Stream<ReadonlyArray<Uint8Array>, E>
): Effect.fn.Return<void, StoreIoError | E, Sqlite | FileSystem.FileSystem | Path.Path> {
  const paths = yield* Path.Path
  const temporary = paths.join(paths.dirname(path), `.${paths.basename(path)}.tmp`)
  if (format === "sqlite_v1") return yield* SqliteV1.write(temporary, path, pieces)
  yield* withFile(temporary, "w", (file) =>
    Stream.runForEach(pieces, ([first, ...others]) =>
      first === undefined
        ? Effect.void
        : writeFully(file, temporary, others.length === 0 ? first : Buffer.concat([first, ...others]))
    ).pipe(Effect.andThen(sync(file, temporary)))
  )
  yield* renameDurably(temporary, path)
})

/** Computes a snapshot from the session's bytes, pushed in order. */
export const snapshotter = (format: Snapshot["format"], path: string) => {
  const hash = createHash("sha256")
  let byteLength = 0
  return {
    push: (bytes: Uint8Array): void => {
      hash.update(bytes)
      byteLength += bytes.length
    },
    end: (): Snapshot => ({ format, path, snapshot_id: `sha256:${hash.digest("hex")}`, byte_length: byteLength })
  }
}

/** The snapshot of a stream of bytes, up to `byteLimit` bytes. Default: all. */
export const snapshotOf = Effect.fnUntraced(function* <E, R>(
  format: Snapshot["format"],
  path: string,
  bytes: Stream.Stream<Uint8Array, E, R>,
  byteLimit = Number.POSITIVE_INFINITY
): Effect.fn.Return<Snapshot, E, R> {
  const snapshot = snapshotter(format, path)
  let rest = byteLimit
  yield* Stream.runForEach(bytes, (chunk) =>
    Effect.sync(() => {
      snapshot.push(chunk.length <= rest ? chunk : chunk.subarray(0, rest))
      rest = Math.max(0, rest - chunk.length)
    })
  )
  return snapshot.end()
})
