/** The call itself: its working directory, and where it writes results, notes and progress. */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { exact, harmless, width } from "@pi-sessions/report/TerminalText"

export class Invocation extends Context.Service<
  Invocation,
  {
    /** Absolute path of the user's directory: PI_SESSIONS_CWD where pnpm changed the directory, else the current one. */
    readonly cwd: string
    /** Makes a path absolute. */
    readonly resolve: (path: string) => string
    /** Writes a result and a newline to stdout. At a terminal, control characters are escaped. */
    readonly result: (text: string) => Effect.Effect<void>
    /** Writes a note and a newline to stderr. Control characters are escaped. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Shows the progress of long work, if stderr is a terminal. An empty text clears the line. */
    readonly progress: (text: string) => Effect.Effect<void>
  }
>()("@pi-sessions/cli/Invocation") {
  static readonly layer = Layer.effect(
    Invocation,
    Effect.gen(function* () {
      const path = yield* Path.Path
      const stdio = yield* Stdio.Stdio
      const cwd = path.resolve(yield* Config.String("PI_SESSIONS_CWD").pipe(Config.withDefault(".")))
      const isEscaped = yield* stdio.stdoutIsTerminal
      const canShow =
        (yield* stdio.stderrIsTerminal) && (yield* Config.withDefault(Config.String("TERM"), "")) !== "dumb"
      const write = (text: string, to: "stdout" | "stderr") =>
        Stream.run(Stream.make(text), stdio[to]({ endOnDone: false })).pipe(Effect.ignore)
      /** Columns of the progress on the screen. They are cleared with blanks, which every terminal understands. */
      let columns = 0
      const progress = (text: string) =>
        Effect.suspend(() => {
          const shown = exact(text)
          const before = columns
          columns = width(shown)
          if (before === 0 && columns === 0) return Effect.void
          return write(`${before === 0 ? "" : `\r${" ".repeat(before)}\r`}${shown}`, "stderr")
        })
      return Invocation.of({
        cwd,
        resolve: (given) => path.resolve(cwd, given),
        result: (text) => write(`${isEscaped ? harmless(text) : text}\n`, "stdout"),
        // The progress is cleared first, because it is on the same line.
        note: (text) => Effect.andThen(progress(""), write(`${harmless(text)}\n`, "stderr")),
        progress: (text) => (canShow ? progress(text) : Effect.void)
      })
    })
  )

  static readonly clearProgress = Effect.flatMap(Invocation, ({ progress }) => progress(""))
}
