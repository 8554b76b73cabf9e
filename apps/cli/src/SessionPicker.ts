/** The session that a reference names, or that the user chooses from a list on stderr; stdout has the result only. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import * as Prompt from "effect/cli/Prompt"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as process from "node:process"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import * as SessionReference from "@pi-sessions/catalog/SessionReference"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { UsageError, missingIsUsage, usage } from "./Exit.ts"
import { Invocation } from "./Invocation.ts"
import * as LocalTime from "./print/LocalTime.ts"
import { USUAL_COLUMNS } from "./print/ResultPrinter.ts"

/** The user left the list without a choice: exit status 130 without a message. */
export class NothingChosen extends Schema.TaggedError<NothingChosen>()("NothingChosen", {}) {
  override get message(): string {
    return ""
  }
  override get [Runtime.errorExitCode](): number {
    return 130
  }
}

/** Sessions that an error names if the user cannot choose. */
const NAMED = 5
/** Bytes of sessions that may be read for their names before the list is drawn, so that it appears at once. */
const READ_BYTES = 4 << 20

/** The session with this path, id or start of an id; without a reference, the user chooses one. */
export const choose = Effect.fnUntraced(
  function* (reference: Option.Option<string>) {
    const { cwd } = yield* Invocation
    if (Option.isSome(reference)) return yield* SessionReference.resolve(reference.value, { cwd })
    const catalog = yield* SessionCatalog
    const { roots, sessions } = yield* catalog.list({ cwd })
    const newest = sessions.toSorted((a, b) => b.modifiedMs - a.modifiedMs)
    if (newest.length === 0) {
      const where = roots.length === 0 ? "there is no directory of sessions" : roots.map(({ path }) => path).join(", ")
      return yield* new UsageError({ text: `which session? None was found (${where}); give the path of one` })
    }
    const stdio = yield* Stdio.Stdio
    const canDraw = (yield* Config.withDefault(Config.String("TERM"), "")) !== "dumb"
    const canAsk = canDraw && (yield* stdio.stdinIsTerminal) && (yield* stdio.stderrIsTerminal)
    return yield* canAsk ? ask(newest) : Effect.fail(cannotAsk(newest))
  },
  usage("SessionNotFound", "AmbiguousSession"),
  missingIsUsage
)

const cannotAsk = (newest: ReadonlyArray<CatalogSession>): UsageError => {
  const some = newest.slice(0, NAMED).map((session) => `  ${title(session, undefined)}`)
  const of = newest.length === 1 ? "There is one:" : `The newest of ${newest.length}:`
  return new UsageError({ text: ["which session? Give a path, an id or its beginning.", of, ...some].join("\n") })
}

/** Characters of an id that contain its time and differ between sessions of one day. */
const ID_LENGTH = 13

/** Time of the last change, id, name and working directory. */
const title = ({ cwd, id, modifiedMs, path }: CatalogSession, name: string | undefined, idLength?: number): string =>
  [
    LocalTime.minutes(modifiedMs),
    id === "" ? path : id.slice(0, idLength),
    ...(name === undefined ? [] : [`"${name}"`]),
    cwd
  ]
    .filter((word) => word !== "")
    .map((word) => TerminalText.line(word))
    .join("  ")

/** Sessions whose names are in the index, and the newest others up to `READ_BYTES`. */
export const cheapToName = (newest: ReadonlyArray<CatalogSession>): ReadonlyArray<CatalogSession> => {
  let left = READ_BYTES
  return newest.filter(({ indexed, sizeBytes }) => {
    if (indexed !== undefined) return true
    left -= sizeBytes
    return left >= 0
  })
}

const ask = Effect.fnUntraced(function* (newest: ReadonlyArray<CatalogSession>) {
  const catalog = yield* SessionCatalog
  const names = new Map<string, string>()
  yield* Stream.runForEach(catalog.summarize(cheapToName(newest)), (summary) =>
    Effect.sync(() => {
      if (Result.isSuccess(summary) && summary.success.name) names.set(summary.success.path, summary.success.name)
    })
  )
  const terminal = yield* onStderr
  const { canColor } = yield* TerminalCapabilities.TerminalCapabilities
  // The prompt puts a pointer before each title, and redraws wrongly if a title does not fit on one line.
  const room = (yield* terminal.columns) - 4
  return yield* Prompt.AutoComplete({
    message: "Which session?",
    choices: newest.map((session) => ({
      title: TerminalText.cut(title(session, names.get(session.path), ID_LENGTH), room),
      value: session
    })),
    theme: { colors: canColor }
  }).pipe(
    Effect.provideService(Terminal.Terminal, terminal),
    Effect.catchTag("QuitError", () => Effect.andThen(terminal.display("\n"), Effect.fail(new NothingChosen()))),
    Effect.catchTag("PlatformError", () => Effect.fail(new NothingChosen()))
  )
})

/** A terminal that draws on stderr. */
const onStderr = Effect.gen(function* () {
  const terminal = yield* Terminal.Terminal
  const stdio = yield* Stdio.Stdio
  return Terminal.make({
    ...terminal,
    columns: Effect.sync(() => process.stderr.columns || USUAL_COLUMNS),
    rows: Effect.sync(() => process.stderr.rows || 24),
    display: (text) => Stream.run(Stream.make(text), stdio.stderr({ endOnDone: false }))
  })
})
