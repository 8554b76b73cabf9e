/**
 * Transcripts of Claude Code as sessions: a layer over another SessionSource, which finds the files and reads them. A file
 * without a header whose lines are a transcript's is a session too (ClaudeCodeSession.ts in core says which); all others
 * pass through as they are. A transcript is read whole, since what a line follows may stand anywhere before it.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ClaudeCodeSession from "@pi-sessions/core/ClaudeCodeSession"
import type * as Session from "@pi-sessions/core/Session"
import { HeaderLine, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type NotASession, type SessionFileError } from "./SessionFileError.ts"
import { type SessionRef, SessionSource } from "./SessionSource.ts"

/** Lines, of whatever kind, among which a header or a line of a transcript must be found. Few precede either. */
const UNDECIDED_LINES = 256

/** Tells of the lines of a file, as they come, whether they are a transcript's. */
class Sorting {
  readonly #held: Array<SessionLine> = []
  #is: "undecided" | "transcript" | "other" = "undecided"

  /** Takes lines and gives those that may go on. */
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

  /** What is left at the end of the file. */
  end(): ReadonlyArray<SessionLine> {
    return this.session()?.lines ?? this.#held
  }

  /** The session of a transcript whose lines have all come. */
  session(): Session.Session | undefined {
    return this.#is === "transcript" ? ClaudeCodeSession.fromLines(this.#held) : undefined
  }
}

const over = (source: SessionSource["Service"]): SessionSource["Service"] => {
  const lines = (ref: SessionRef): Stream.Stream<SessionLine, SessionFileError> =>
    Stream.suspend(() => {
      const sorting = new Sorting()
      return source.lines(ref).pipe(
        Stream.chunks,
        Stream.map((lines) => sorting.push(lines)),
        Stream.concat(Stream.sync(() => sorting.end())),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray
      )
    })

  /** Only of files that have no header of Pi. */
  const transcript = Effect.fnUntraced(function* (ref: SessionRef, none: NotASession) {
    const sorting = new Sorting()
    yield* Stream.runForEachArray(source.lines(ref), (lines) => Effect.sync(() => void sorting.push(lines)))
    return sorting.session() ?? (yield* none)
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

/** Needs the source that it reads from. */
export const layer = Layer.effect(SessionSource, Effect.map(SessionSource, over))
