/**
 * The `sqlite_v1` format, the smallest database that holds a session: one table with one row per line, in order.
 *
 *     CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT
 *
 * Row 0 is the header. `line` has the bytes of the line with its newline, so that the concatenated rows are the session's
 * JSONL file.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { Sqlite, type SqliteError, bytes, number } from "@pi-sessions/sqlite/Sqlite"
import { StoreIoError, fromPlatform } from "./StoreError.ts"
import { renameDurably, sync, withFile } from "./files/durable.ts"

/** The statement that creates the table. */
export const TABLE = "CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT"

const ROWS = 500

const failed = (error: SqliteError): StoreIoError =>
  new StoreIoError({ path: error.path, operation: error.operation, reason: error.reason })

/** The session's bytes in order, one line each. Rows that are not numbered from 0 without a gap are an error. */
export const read = (path: string): Stream.Stream<Uint8Array, StoreIoError, Sqlite> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const sqlite = yield* Sqlite
      const database = yield* sqlite.open(path, { readOnly: true }).pipe(Effect.mapError(failed))
      const stray = yield* database
        .use("read a session's lines", (connection) =>
          connection.get("SELECT entry_seq FROM session_line WHERE entry_seq < 0 ORDER BY entry_seq LIMIT 1")
        )
        .pipe(Effect.mapError(failed))
      if (stray !== undefined) {
        const reason = `row ${String(stray["entry_seq"])} of session_line lies before the header, which is row 0`
        return yield* new StoreIoError({ path, operation: "read a session's lines", reason })
      }
      return Stream.paginate(0, (first) =>
        Effect.gen(function* () {
          const rows = yield* database
            .use("read a session's lines", (connection) =>
              connection
                .all(
                  "SELECT entry_seq, line FROM session_line WHERE entry_seq >= ? ORDER BY entry_seq LIMIT ?",
                  first,
                  ROWS
                )
                .map((row) => ({ seq: number(row, "entry_seq"), line: bytes(row, "line") }))
            )
            .pipe(Effect.mapError(failed))
          const gap = rows.findIndex(({ seq }, at) => seq !== first + at)
          if (gap >= 0) {
            const reason = `row ${first + gap} of session_line is missing: the one before row ${rows[gap]?.seq}`
            return yield* new StoreIoError({ path, operation: "read a session's lines", reason })
          }
          const next = rows.length === ROWS ? Option.some(first + ROWS) : Option.none<number>()
          return [rows.map(({ line }) => line), next] as const
        })
      )
    })
  )

/** Writes a session to a new database at `path`, built at `temporary` and renamed. */
export const write = Effect.fn("SqliteV1.write")(function* <E, R>(
  temporary: string,
  path: string,
  lines: Stream.Stream<ReadonlyArray<Uint8Array>, E, R>
): Effect.fn.Return<void, StoreIoError | E, Sqlite | FileSystem.FileSystem | Path.Path | R> {
  const sqlite = yield* Sqlite
  const fs = yield* FileSystem.FileSystem
  yield* fs.remove(temporary, { force: true }).pipe(Effect.mapError(fromPlatform(temporary, "write")))
  yield* Effect.scoped(
    Effect.gen(function* () {
      const database = yield* sqlite.open(temporary).pipe(Effect.mapError(failed))
      // Without a write-ahead log the database is one file, which can be renamed.
      yield* database
        .use("make the table", (connection) => {
          connection.get("PRAGMA journal_mode = DELETE")
          connection.exec(TABLE)
        })
        .pipe(Effect.mapError(failed))
      let seq = 0
      yield* Stream.runForEach(lines, (batch) =>
        database
          .transaction("write a session's lines", (connection) => {
            for (const line of batch) connection.run("INSERT INTO session_line VALUES (?, ?)", seq++, line)
          })
          .pipe(Effect.mapError(failed))
      )
    })
  )
  yield* withFile(temporary, "r+", (file) => sync(file, temporary))
  yield* renameDurably(temporary, path)
})
