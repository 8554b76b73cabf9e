/** Reads sessions in databases of lines (`sqlite_v1`) as session files are read. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Session from "@pi-sessions/core/Session"
import { type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader, peekHeader } from "@pi-sessions/core/SessionReader"
import { NotASession, SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import * as SqliteV1 from "../SqliteV1.ts"

const cannotRead =
  ({ path }: SessionRef) =>
  ({ reason }: { readonly reason: string }) =>
    new SessionFileError({ path, operation: "read", reason })

const noHeader = ({ path }: SessionRef) => new NotASession({ path, line: 1, byteOffset: 0 })

const rows = (ref: SessionRef) => SqliteV1.read(ref.path).pipe(Stream.mapError(cannotRead(ref)))

/** Reads row 0 only. */
export const header = Effect.fnUntraced(
  function* (ref: SessionRef) {
    const database = yield* (yield* Sqlite).open(ref.path, { readOnly: true })
    const row = yield* database.use("read a session's header", (connection) =>
      connection.get("SELECT line FROM session_line WHERE entry_seq = 0")
    )
    const line = row?.["line"]
    return (line instanceof Uint8Array ? peekHeader(line) : undefined) ?? (yield* noHeader(ref))
  },
  Effect.scoped,
  (effect, ref) => Effect.catchTag(effect, "SqliteError", (error) => Effect.fail(cannotRead(ref)(error)))
)

export const lines = (ref: SessionRef): Stream.Stream<SessionLine, SessionFileError, Sqlite> =>
  Stream.suspend(() => {
    const reader = new SessionReader()
    return rows(ref).pipe(
      Stream.map((line) => reader.push(line)),
      Stream.concat(Stream.sync(() => reader.end())),
      Stream.filter(Arr.isReadonlyArrayNonEmpty),
      Stream.flattenArray
    )
  })

export const read = Effect.fnUntraced(function* (ref: SessionRef) {
  const session = Session.read(yield* Stream.runCollect(rows(ref)))
  return session.header === undefined ? yield* noHeader(ref) : session
})
