/**
 * The one session that a command is about: the one that was named, or one that a person chooses from a list. The list
 * is drawn on stderr, so that stdout holds the result alone.
 */
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
import { CommandFailed, UsageError } from "./Exit.ts"
import { Invocation } from "./Invocation.ts"
import * as PointInTime from "./flags/PointInTime.ts"

/** The person left the list without choosing: exit code 130, and nothing to say. */
export class NothingChosen extends Schema.TaggedError<NothingChosen>()("NothingChosen", {}) {
  override get message(): string {
    return ""
  }
  override get [Runtime.errorExitCode](): number {
    return 130
  }
}

/** How many of the newest sessions are named where nobody can be asked. */
const NAMED = 5
/** How much of sessions may be read for their names before the list is drawn: less than a person notices. */
const READ_BYTES = 4 << 20
const USUAL_COLUMNS = 80
/** What a SessionFileError says of a path that is not there. */
const NOT_THERE = "no such file or directory"

/** The session that `reference` names; without one it is chosen at a terminal. */
export const choose = Effect.fnUntraced(
  function* (reference: Option.Option<string>) {
    const invocation = yield* Invocation
    if (Option.isSome(reference)) {
      return yield* SessionReference.resolve(reference.value, { cwd: invocation.cwd })
    }
    const catalog = yield* SessionCatalog
    const { roots, sessions } = yield* catalog.list({ cwd: invocation.cwd })
    const newest = sessions.toSorted((a, b) => b.modifiedMs - a.modifiedMs)
    if (newest.length === 0) {
      const where = roots.length === 0 ? "there is no directory of sessions" : roots.map(({ path }) => path).join(", ")
      return yield* new UsageError({ text: `which session? None was found (${where}); give the path of one` })
    }
    const stdio = yield* Stdio.Stdio
    const canDraw = (yield* Config.withDefault(Config.String("TERM"), "")) !== "dumb"
    const asks = canDraw && (yield* stdio.stdinIsTerminal) && (yield* stdio.stderrIsTerminal)
    return yield* asks ? ask(newest) : unasked(newest)
  },
  Effect.catchTag(["SessionNotFound", "AmbiguousSession"], (error) =>
    Effect.fail(new UsageError({ text: error.message }))
  ),
  Effect.catchTag("SessionFileError", (error) => {
    const text = error.message
    return Effect.fail(error.reason === NOT_THERE ? new UsageError({ text }) : new CommandFailed({ text }))
  }),
  Effect.catchTag("ConfigError", (error) => Effect.fail(new CommandFailed({ text: error.message })))
)

const unasked = (newest: ReadonlyArray<CatalogSession>) => {
  const some = newest.slice(0, NAMED).map((session) => `  ${told(session, undefined)}`)
  const of = newest.length === 1 ? "There is one:" : `The newest of ${newest.length}:`
  return Effect.fail(
    new UsageError({ text: ["which session? Give a path, an id or its beginning.", of, ...some].join("\n") })
  )
}

/** The part of an id that tells when it was made, and that the others of the day do not share. */
const ID_LENGTH = 13

/** When it was last written to, its id, its name, where it ran. */
const told = ({ cwd, id, modifiedMs, path }: CatalogSession, name: string | undefined, idLength?: number): string =>
  [
    PointInTime.show(modifiedMs),
    id === "" ? path : id.slice(0, idLength),
    ...(name === undefined ? [] : [`"${name}"`]),
    cwd
  ]
    .filter((word) => word !== "")
    .map((word) => TerminalText.line(word))
    .join("  ")

/** Those whose names the index knows, and of the others the newest, as far as they are soon read. */
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
  // The prompt puts a pointer before each, and redraws wrongly what does not fit on one line.
  const room = (yield* terminal.columns) - 4
  return yield* Prompt.AutoComplete({
    message: "Which session?",
    choices: newest.map((session) => ({
      title: TerminalText.cut(told(session, names.get(session.path), ID_LENGTH), room),
      value: session
    })),
    theme: { colors: canColor }
  }).pipe(
    Effect.provideService(Terminal.Terminal, terminal),
    Effect.catchTag("QuitError", () => Effect.andThen(terminal.display("\n"), Effect.fail(new NothingChosen()))),
    Effect.catchTag("PlatformError", () => Effect.fail(new NothingChosen()))
  )
})

/** The terminal, with stderr for its screen. */
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
