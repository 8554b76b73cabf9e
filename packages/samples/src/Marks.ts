/**
 * Marks that a person set while looking at sessions: this one, or this answer of it, is good to learn from, or is not.
 * They stand in a file of their own beside everything else, by ids, so that sessions are never written to.
 *
 * What a mark means for an answer: one on the session that rejects it outdoes all others; then the answer's own mark
 * counts, then the session's. A rejected answer is no target; samples still tell it where others follow it.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as TextFile from "@pi-sessions/session-file/TextFile"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

export const MARKS_KIND = "pi-sessions/marks/1"

export const Mark = Schema.Literals(["accept", "reject"])
export type Mark = typeof Mark.Type

/** Marks of one session. */
export const SessionMarks = Schema.Struct({
  /** On the session as a whole. */
  session: Schema.optionalKey(Mark),
  /** On its entries, by id. */
  entries: Schema.optionalKey(Schema.Record(Schema.String, Mark))
})
export type SessionMarks = typeof SessionMarks.Type

export const Marks = Schema.Struct({
  kind: Schema.Literal(MARKS_KIND),
  /** By session id. */
  sessions: Schema.Record(Schema.String, SessionMarks)
})
export type Marks = typeof Marks.Type

export const none: Marks = { kind: MARKS_KIND, sessions: {} }

/** The file holds something else; it was left as it is. */
export class NotMarks extends Schema.TaggedError<NotMarks>()("NotMarks", {
  path: Schema.String,
  /** The place in the file, where one is wrong. */
  detail: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const detail = this.detail === undefined ? "" : `: ${this.detail}`
    return `${this.path}${detail}: it holds no marks ({"kind": "${MARKS_KIND}", ...}); name another file`
  }
}

/** No such file holds marks. */
export class MarksNotFound extends Schema.TaggedError<MarksNotFound>()("MarksNotFound", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path}: no such file; marks are made with: pi-sessions view --marks ${this.path}`
  }
}

const isMarks = Schema.is(Marks)

/** Reads marks; fails where there is no such file. */
export const read = Effect.fn("Marks.read")(function* (
  file: string
): Effect.fn.Return<Marks, NotMarks | MarksNotFound | SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const bytes = yield* fs.readFile(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(fromPlatform(file, "read"))
  )
  if (bytes === undefined) return yield* new MarksNotFound({ path: file })
  const value = yield* TextFile.decode(file, bytes).pipe(
    Effect.flatMap((text) => TextFile.parse(file, text)),
    Effect.mapError(({ reason }) => new NotMarks({ path: file, detail: reason }))
  )
  return isMarks(value) ? value : yield* new NotMarks({ path: file })
})

/** Reads marks; none where there is no such file. */
export const readOrNone = (file: string) => Effect.catchTag(read(file), "MarksNotFound", () => Effect.succeed(none))

/** Writes marks in the order of ids; the file is the old one or the new one at any moment, and its directory is made. */
export const write = Effect.fn("Marks.write")(function* (
  file: string,
  marks: Marks
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const sessions = Object.entries(marks.sessions)
    .map(([id, { entries = {}, session }]) => {
      const sorted = Object.fromEntries(Object.entries(entries).sort(byKey))
      return [
        id,
        {
          ...(session === undefined ? {} : { session }),
          ...(Object.keys(sorted).length === 0 ? {} : { entries: sorted })
        }
      ] as const
    })
    .filter(([, marks]) => Object.keys(marks).length > 0)
    .sort(byKey)
  const text = JSON.stringify({ kind: MARKS_KIND, sessions: Object.fromEntries(sessions) }, undefined, 1)
  yield* fs
    .makeDirectory(path.dirname(file), { recursive: true })
    .pipe(
      Effect.andThen(SafeWrite.write(file, [new TextEncoder().encode(`${text}\n`)], "replace")),
      Effect.mapError(fromPlatform(file, "write"))
    )
})

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** Marks with one set, or taken away where `mark` is null: on an entry, else on the session. */
export const set = (marks: Marks, sessionId: string, entryId: string | undefined, mark: Mark | null): Marks => {
  const before = own(marks.sessions, sessionId) ?? {}
  const { entries = {}, session } = before
  const after: SessionMarks =
    entryId === undefined
      ? { ...(mark === null ? {} : { session: mark }), entries }
      : { ...(session === undefined ? {} : { session }), entries: withMark(entries, entryId, mark) }
  return { ...marks, sessions: withMark(marks.sessions, sessionId, after) }
}

/** Ids are what sessions say: one may be called `__proto__`. */
const withMark = <A>(
  record: { readonly [id: string]: A },
  id: string,
  value: A | null
): { readonly [id: string]: A } => {
  const others = Object.entries(record).filter(([key]) => key !== id)
  return Object.fromEntries(value === null ? others : [...others, [id, value]])
}

const own = <A>(record: { readonly [id: string]: A }, id: string): A | undefined =>
  Object.hasOwn(record, id) ? record[id] : undefined

/** The mark on an entry, or on the session where no entry is given. */
export const on = (marks: Marks, sessionId: string, entryId?: string): Mark | undefined => {
  const { entries = {}, session } = own(marks.sessions, sessionId) ?? {}
  return entryId === undefined ? session : own(entries, entryId)
}

/** Marks that a run of extract obeys. */
export interface MarksRule {
  readonly marks: Marks
  /** Only what was accepted is learnt from. */
  readonly acceptedOnly: boolean
}

/** Why a session is left out for its marks. */
export type Refusal = "rejected_mark" | "no_accepting_mark"

/** Why a session is left out; undefined where it is not, or not as a whole. */
export const refusal = ({ acceptedOnly, marks }: MarksRule, sessionId: string): Refusal | undefined => {
  const { entries = {}, session } = own(marks.sessions, sessionId) ?? {}
  if (session === "reject") return "rejected_mark"
  const isAccepted = session === "accept" || Object.values(entries).includes("accept")
  return acceptedOnly && !isAccepted ? "no_accepting_mark" : undefined
}

/** Whether anything in a session is rejected. */
export const rejectsIn = ({ marks }: MarksRule, sessionId: string): boolean => {
  const { entries = {}, session } = own(marks.sessions, sessionId) ?? {}
  return session === "reject" || Object.values(entries).includes("reject")
}

/** Whether an answer may be learnt from. */
export const isTarget = ({ acceptedOnly, marks }: MarksRule, sessionId: string, entryId: string | null): boolean => {
  const { entries = {}, session } = own(marks.sessions, sessionId) ?? {}
  if (session === "reject") return false
  const mark = (entryId === null ? undefined : own(entries, entryId)) ?? session
  return mark === undefined ? !acceptedOnly : mark === "accept"
}
