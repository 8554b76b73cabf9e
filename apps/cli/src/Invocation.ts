/** Where the person stood when they called us; relative paths mean that directory. */
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
    /** Absolute. Under pnpm, which changes directory before it runs a script, the root scripts tell by PI_SESSIONS_CWD. */
    readonly cwd: string
    /** An absolute path from one that a person gave. */
    readonly resolve: (path: string) => string
    /** Writes a result to stdout, newline added; to a terminal nothing goes that could steer it. */
    readonly result: (text: string) => Effect.Effect<void>
    /** Writes a note to stderr, newline added. What it quotes of files and sessions is made harmless. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Shows how far long work has come, where stderr is a terminal; an empty text clears the line. */
    readonly progress: (text: string) => Effect.Effect<void>
  }
>()("@pi-sessions/cli/Invocation") {
  static readonly layer = Layer.effect(
    Invocation,
    Effect.gen(function* () {
      const path = yield* Path.Path
      const stdio = yield* Stdio.Stdio
      const stood = yield* Config.String("PI_SESSIONS_CWD").pipe(Config.withDefault("."))
      const isTerminal = yield* stdio.stderrIsTerminal
      const isShown = yield* stdio.stdoutIsTerminal
      const canShow = isTerminal && (yield* Config.withDefault(Config.String("TERM"), "")) !== "dumb"
      const cwd = path.resolve(stood)
      const write = (text: string, to: "stdout" | "stderr") =>
        Stream.run(Stream.make(text), stdio[to]({ endOnDone: false })).pipe(Effect.ignore)
      /** Columns that the progress takes now. Blanks clear them on every terminal, whatever it may not be sent. */
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
        result: (text) => write(`${isShown ? harmless(text) : text}\n`, "stdout"),
        // Lest it stand on the line of the progress.
        note: (text) => Effect.andThen(progress(""), write(`${harmless(text)}\n`, "stderr")),
        progress: (text) => (canShow ? progress(text) : Effect.void)
      })
    })
  )
}
