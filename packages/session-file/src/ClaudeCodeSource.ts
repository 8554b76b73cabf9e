/**
 * Reads transcripts of Claude Code as sessions: a layer over another `SessionSource`, which finds and reads the files. A
 * transcript is a file without a header whose lines `ClaudeCodeSession` recognizes; other files are not changed. A
 * transcript is read whole, because the parent of a line may be anywhere before it.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ClaudeCodeSession from "@pi-sessions/core/ClaudeCodeSession"
import type * as Session from "@pi-sessions/core/Session"
import { HeaderLine, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type NotASession, SessionFileError } from "./SessionFileError.ts"
import { type SessionRef, SessionSource } from "./SessionSource.ts"

/** Lines at the start of a file that are searched for a header or a line of a transcript. */
const UNDECIDED_LINES = 256

/** Decides from the first lines of a file whether it is a transcript, and holds its lines until then. */
class Sorting {
  readonly #held: Array<SessionLine> = []
  #is: "undecided" | "transcript" | "other" = "undecided"

  /** Adds lines. Returns those of files that are not transcripts. */
  push(lines: ReadonlyArray<SessionLine>): ReadonlyArray<SessionLine> {
    if (this.#is === "other") return lines
    for (const line of lines) {
      this.#held.push(line)
      if (this.#is !== "undecided") continue
      if (line instanceof HeaderLine || this.#held.length > UNDECIDED_LINES) this.#is = "other"
      else if (ClaudeCodeSession.isTranscriptLine(line)) this.#is = "transcript"
    }
    return this.#is === "other" ? this.#held.splice(0) : []
  }

  /** The remaining lines, at the end of the file. */
  end(): ReadonlyArray<SessionLine> {
    return this.session()?.lines ?? this.#held
  }

  /** The session, at the end of the file; undefined when it is not a transcript. */
  session(): Session.Session | undefined {
    return this.#is === "transcript" ? ClaudeCodeSession.fromLines(this.#held) : undefined
  }
}

/** Converts a transcript; fails if it exceeds the limits of `ClaudeCodeSession`. */
const limited = <A>({ path }: SessionRef, convert: () => A): Effect.Effect<A, SessionFileError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(convert())
    } catch (error) {
      if (!(error instanceof ClaudeCodeSession.TranscriptTooLarge)) throw error
      return Effect.fail(new SessionFileError({ path, operation: "read", reason: error.message }))
    }
  })

const over = (source: SessionSource["Service"]): SessionSource["Service"] => {
  const lines = (ref: SessionRef): Stream.Stream<SessionLine, SessionFileError> =>
    Stream.suspend(() => {
      const sorting = new Sorting()
      return source.lines(ref).pipe(
        Stream.chunks,
        Stream.map((lines) => sorting.push(lines)),
        Stream.concat(Stream.fromEffect(limited(ref, () => sorting.end()))),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray
      )
    })

  /** The session of a file without a header. */
  const transcript = Effect.fnUntraced(function* (ref: SessionRef, none: NotASession) {
    const sorting = new Sorting()
    yield* Stream.runForEachArray(source.lines(ref), (lines) => Effect.sync(() => void sorting.push(lines)))
    return (yield* limited(ref, () => sorting.session())) ?? (yield* none)
  })

  const read = (ref: SessionRef): Effect.Effect<Session.Session, SessionFileError | NotASession> =>
    source.read(ref).pipe(Effect.catchTag("NotASession", (none) => transcript(ref, none)))

  const header = (ref: SessionRef): Effect.Effect<HeaderLine, SessionFileError | NotASession> =>
    source
      .header(ref)
      .pipe(
        Effect.catchTag("NotASession", (none) =>
          Effect.flatMap(transcript(ref, none), ({ header }) => (header === undefined ? none : Effect.succeed(header)))
        )
      )

  return SessionSource.of({ list: source.list, header, lines, read })
}

/** Requires the source that it reads from. */
export const layer = Layer.effect(SessionSource, Effect.map(SessionSource, over))
