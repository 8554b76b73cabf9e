/** Runs `index refresh`. */
import * as Effect from "effect/Effect"
import { IndexRefresh, type RefreshedIndex } from "@pi-sessions/catalog/IndexRefresh"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { CommandFailed, missingIsUsage } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import * as StoredSessions from "../../../StoredSessions.ts"
import * as ResultPrinter from "../../../print/ResultPrinter.ts"
import * as Table from "../../../print/Table.ts"
import { counted } from "../../../print/Words.ts"
import { type Input } from "../../sessionIndex.ts"
import * as IndexDirectories from "../IndexDirectories.ts"

const notes = Effect.fnUntraced(function* ({ file, movedAside, unread }: RefreshedIndex) {
  const { note } = yield* Invocation
  if (movedAside !== undefined) {
    yield* note(`warning: ${file} was damaged; it is ${movedAside} now, and a new one was made`)
  }
  for (const { path, reason } of unread) yield* note(`warning: ${path}: ${reason}`)
})

const HEAD = ["sessions", "written", "removed", "directory"]

export const run = Effect.fnUntraced(
  function* (input: Input) {
    yield* IndexDirectories.check(input)
    const invocation = yield* Invocation
    const index = yield* IndexRefresh
    const done = yield* index.refresh({
      sessions: input.sessions,
      cwd: invocation.cwd,
      onProgress: (read, total) => invocation.progress(`${read} of ${total} sessions`)
    })
    yield* invocation.progress("")
    if (done.length === 0) return yield* IndexDirectories.none
    for (const one of done) yield* notes(one)
    const rows = done.map((one) => [one.sessions, one.written, one.removed, TerminalText.line(one.root)])
    yield* invocation.result(
      input.json ? ResultPrinter.json({ indexes: done }, 2) : Table.render(HEAD, rows).join("\n")
    )
    const unread = done.flatMap((one) => one.unread).length
    if (unread > 0) return yield* new CommandFailed({ text: `${counted(unread, "session")} could not be read` })
  },
  missingIsUsage,
  Effect.provide(StoredSessions.layer)
)
