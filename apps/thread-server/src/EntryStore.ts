/** The entries of all threads, in one SQLite database. Acknowledged entries are durable. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Appended } from "@pi-sessions/reconstruction/thread/ThreadFile"
import { Sqlite, type SqliteError, bytes, number } from "@pi-sessions/sqlite/Sqlite"
import * as PrivateDatabase from "./PrivateDatabase.ts"

/** An entry with its JSON text, which is stored and returned byte for byte. */
export interface StoredEntry {
  readonly id: string
  readonly type: string
  readonly json: string
}

export interface StoredPage {
  /** JSON texts in UTF-8, in thread order. */
  readonly entries: ReadonlyArray<Uint8Array>
  /** The number of the last entry, when more follow. */
  readonly next: number | undefined
}

/** A page ends here, after at least one entry, whatever its limit. */
const PAGE_BYTES = 8 * 1024 * 1024

export class EntryStore extends Context.Service<
  EntryStore,
  {
    /** At most `limit` entries after number `after`; none when the thread does not exist. */
    readonly page: (
      threadId: string,
      after: number,
      limit: number
    ) => Effect.Effect<Option.Option<StoredPage>, SqliteError>
    /** Appends the entries whose ids the thread does not hold, in one transaction. */
    readonly append: (threadId: string, entries: ReadonlyArray<StoredEntry>) => Effect.Effect<Appended, SqliteError>
  }
>()("@pi-sessions/thread-server/EntryStore") {
  /** The database at `path`, created when missing, with mode 0600. */
  static readonly layer = (path: string) =>
    Layer.effect(
      EntryStore,
      Effect.gen(function* () {
        const sqlite = yield* Sqlite
        yield* PrivateDatabase.prepare(path)
        const database = yield* sqlite.open(path)
        yield* database.transaction("make the table of entries", (connection) => connection.exec(SCHEMA))

        const page = (threadId: string, after: number, limit: number) =>
          database.use("read a page of entries", (connection) => {
            if (connection.get(EXISTS, threadId) === undefined) return Option.none<StoredPage>()
            const entries: Array<Uint8Array> = []
            let size = 0
            let last = after
            for (const row of connection.iterate(PAGE, threadId, after, limit + 1)) {
              if (entries.length === limit || size >= PAGE_BYTES) return Option.some({ entries, next: last })
              const json = bytes(row, "json")
              entries.push(json)
              size += json.length
              last = number(row, "seq")
            }
            return Option.some({ entries, next: undefined })
          })

        const append = (threadId: string, entries: ReadonlyArray<StoredEntry>) =>
          database.transaction("append entries", (connection) => {
            let seq = number(connection.get(LAST, threadId) ?? {}, "seq")
            let accepted = 0
            for (const { id, type, json } of entries) {
              if (connection.run(INSERT, threadId, seq + 1, id, type, json) === 0) continue
              seq++
              accepted++
            }
            return { accepted, repeated: entries.length - accepted }
          })

        return EntryStore.of({ page, append })
      })
    )
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (
    thread_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (thread_id, seq),
    UNIQUE (thread_id, id)
  ) STRICT`

const EXISTS = "SELECT 1 FROM entries WHERE thread_id = ? LIMIT 1"

// As bytes, because pages are sent without conversion to strings.
const PAGE = "SELECT seq, CAST(json AS BLOB) AS json FROM entries WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?"

const LAST = "SELECT coalesce(max(seq), 0) AS seq FROM entries WHERE thread_id = ?"

const INSERT =
  "INSERT INTO entries (thread_id, seq, id, type, json) VALUES (?, ?, ?, ?, ?) ON CONFLICT (thread_id, id) DO NOTHING"
