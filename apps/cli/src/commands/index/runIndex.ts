/** Running `index refresh` and `index status`. */
import * as Effect from "effect/Effect"
import { IndexRefresh, type IndexStatus, type RefreshedIndex } from "@pi-sessions/catalog/IndexRefresh"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as Table from "../../print/Table.ts"

export interface Input {
  readonly sessions: ReadonlyArray<string>
  readonly json: boolean
}

const NOT_THERE = "no such file or directory"

const checked = Effect.fnUntraced(function* (input: Input) {
  if (input.sessions.includes("")) return yield* new UsageError({ text: "--sessions is empty; give a directory" })
})

const nowhere = (): UsageError =>
  new UsageError({ text: "there is no directory of sessions; name one with --sessions DIR" })

/** Errors of the catalog as this program ends with them. */
const told = (error: { readonly _tag: string; readonly message: string; readonly reason?: unknown }) => {
  if (error instanceof UsageError || error instanceof CommandFailed) return error
  const text = error.message
  return error.reason === NOT_THERE ? new UsageError({ text }) : new CommandFailed({ text })
}

const statusJson = ({ problem, ...rest }: IndexStatus) => ({
  ...rest,
  ...(problem === undefined ? {} : { problem: problem.reason })
})

export const status = Effect.fnUntraced(
  function* (input: Input) {
    yield* checked(input)
    const invocation = yield* Invocation
    const index = yield* IndexRefresh
    const found = yield* index.status({ sessions: input.sessions, cwd: invocation.cwd })
    if (found.length === 0) return yield* nowhere()
    for (const { file, problem } of found) {
      if (problem === undefined) continue
      const remedy = problem.damaged ? "; index refresh makes a new one" : ""
      yield* invocation.note(`warning: ${file}: ${problem.reason}${remedy}`)
    }
    const rows = found.map(({ current, gone, missing, others, root, sessions, stale }) => [
      sessions,
      current,
      stale,
      missing,
      gone,
      others,
      TerminalText.line(root)
    ])
    yield* invocation.result(
      input.json
        ? TerminalText.json(JSON.stringify({ indexes: found.map(statusJson) }, null, 2))
        : Table.render(["sessions", "current", "stale", "missing", "gone", "other rows", "directory"], rows).join("\n")
    )
  },
  Effect.mapError(told),
  Effect.provide(StoredSessions.layer)
)

export const refresh = Effect.fnUntraced(
  function* (input: Input) {
    yield* checked(input)
    const invocation = yield* Invocation
    const index = yield* IndexRefresh
    const done = yield* index
      .refresh({
        sessions: input.sessions,
        cwd: invocation.cwd,
        onProgress: (read, total) => invocation.progress(`${read} of ${total} sessions`)
      })
      .pipe(Effect.ensuring(invocation.progress("")))
    if (done.length === 0) return yield* nowhere()
    for (const one of done) yield* notes(one)
    const rows = done.map(({ removed, root, sessions, written }) => [
      sessions,
      written,
      removed,
      TerminalText.line(root)
    ])
    yield* invocation.result(
      input.json
        ? TerminalText.json(JSON.stringify({ indexes: done }, null, 2))
        : Table.render(["sessions", "written", "removed", "directory"], rows).join("\n")
    )
    const unread = done.flatMap((one) => one.unread)
    if (unread.length > 0) {
      const what = unread.length === 1 ? "1 session" : `${unread.length} sessions`
      return yield* new CommandFailed({ text: `${what} could not be read` })
    }
  },
  Effect.mapError(told),
  Effect.provide(StoredSessions.layer)
)

const notes = Effect.fnUntraced(function* ({ file, movedAside, unread }: RefreshedIndex) {
  const { note } = yield* Invocation
  if (movedAside !== undefined) {
    yield* note(`warning: ${file} was damaged; it is ${movedAside} now, and a new one was made`)
  }
  for (const { path, reason } of unread) yield* note(`warning: ${path}: ${reason}`)
})
