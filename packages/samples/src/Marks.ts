/**
 * Marks by the user: a session, or an answer in it, is accepted or rejected as training data. They are in a file of their
 * own, by id, so that session files never change.
 *
 * The mark of an answer is `reject` if its session is rejected, else its own mark, else the session's. A rejected answer is
 * not a target, but stays in the context of later answers.
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
  /** For the whole session. */
  session: Schema.optionalKey(Mark),
  /** By entry id. */
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

/** The file is not a marks file; it was not changed. */
export class NotMarks extends Schema.TaggedError<NotMarks>()("NotMarks", {
  path: Schema.String,
  /** The position and reason of invalid JSON. */
  detail: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const detail = this.detail === undefined ? "" : `: ${this.detail}`
    return `${this.path}${detail}: it holds no marks ({"kind": "${MARKS_KIND}", ...}); name another file`
  }
}

/** The marks file does not exist. */
export class MarksNotFound extends Schema.TaggedError<MarksNotFound>()("MarksNotFound", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path}: no such file; marks are made with: pi-sessions view --marks ${this.path}`
  }
}

const isMarks = Schema.is(Marks)

/** Reads a marks file; fails with `MarksNotFound` if it does not exist. */
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

/** Reads a marks file; returns `none` if it does not exist. */
export const readOrNone = (file: string) => Effect.catchTag(read(file), "MarksNotFound", () => Effect.succeed(none))

/** Writes marks atomically, sorted by id. Creates the directory. */
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

/** Sets the mark of an entry, or of the session if `entryId` is undefined. Null removes the mark. */
export const set = (marks: Marks, sessionId: string, entryId: string | undefined, mark: Mark | null): Marks => {
  const { entries = {}, session } = marksOf(marks, sessionId)
  const after: SessionMarks =
    entryId === undefined
      ? { ...(mark === null ? {} : { session: mark }), entries }
      : { ...(session === undefined ? {} : { session }), entries: withMark(entries, entryId, mark) }
  return { ...marks, sessions: withMark(marks.sessions, sessionId, after) }
}

/** `Object.fromEntries` because ids come from sessions and may be `__proto__`. */
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

const marksOf = ({ sessions }: Marks, sessionId: string): SessionMarks => own(sessions, sessionId) ?? {}

/** The mark of an entry, or of the session if `entryId` is undefined. */
export const on = (marks: Marks, sessionId: string, entryId?: string): Mark | undefined => {
  const { entries = {}, session } = marksOf(marks, sessionId)
  return entryId === undefined ? session : own(entries, entryId)
}

/** How `extract` uses marks. */
export interface MarksRule {
  readonly marks: Marks
  /** Whether only accepted answers are targets. */
  readonly acceptedOnly: boolean
}

/** Why marks exclude a session. */
export type Refusal = "rejected_mark" | "no_accepting_mark"

/** Why marks exclude the whole session; undefined if they do not. */
export const refusal = ({ acceptedOnly, marks }: MarksRule, sessionId: string): Refusal | undefined => {
  const { entries = {}, session } = marksOf(marks, sessionId)
  if (session === "reject") return "rejected_mark"
  const isAccepted = session === "accept" || Object.values(entries).includes("accept")
  return acceptedOnly && !isAccepted ? "no_accepting_mark" : undefined
}

/** Whether a session or any of its entries is rejected. */
export const rejectsIn = ({ marks }: MarksRule, sessionId: string): boolean => {
  const { entries = {}, session } = marksOf(marks, sessionId)
  return session === "reject" || Object.values(entries).includes("reject")
}

/** Whether an answer may be a target. */
export const isTarget = ({ acceptedOnly, marks }: MarksRule, sessionId: string, entryId: string | null): boolean => {
  const { entries = {}, session } = marksOf(marks, sessionId)
  if (session === "reject") return false
  const mark = (entryId === null ? undefined : own(entries, entryId)) ?? session
  return mark === undefined ? !acceptedOnly : mark === "accept"
}
