/** Runs `index status`. */
import * as Effect from "effect/Effect"
import { IndexRefresh, type IndexStatus } from "@pi-sessions/catalog/IndexRefresh"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { missingIsUsage } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import * as StoredSessions from "../../../StoredSessions.ts"
import * as ResultPrinter from "../../../print/ResultPrinter.ts"
import * as Table from "../../../print/Table.ts"
import { type Input } from "../../sessionIndex.ts"
import * as IndexDirectories from "../IndexDirectories.ts"

const toJson = ({ problem, ...rest }: IndexStatus) => ({
  ...rest,
  ...(problem === undefined ? {} : { problem: problem.reason })
})

const HEAD = ["sessions", "current", "stale", "missing", "gone", "other rows", "directory"]

const row = ({ current, gone, missing, others, root, sessions, stale }: IndexStatus) => [
  sessions,
  current,
  stale,
  missing,
  gone,
  others,
  TerminalText.line(root)
]

export const run = Effect.fnUntraced(
  function* (input: Input) {
    yield* IndexDirectories.check(input)
    const invocation = yield* Invocation
    const index = yield* IndexRefresh
    const found = yield* index.status({ sessions: input.sessions, cwd: invocation.cwd })
    if (found.length === 0) return yield* IndexDirectories.none
    for (const { file, problem } of found) {
      if (problem === undefined) continue
      const remedy = problem.damaged ? "; index refresh makes a new one" : ""
      yield* invocation.note(`warning: ${file}: ${problem.reason}${remedy}`)
    }
    yield* invocation.result(
      input.json ? ResultPrinter.json({ indexes: found.map(toJson) }, 2) : Table.render(HEAD, found.map(row)).join("\n")
    )
  },
  missingIsUsage,
  Effect.provide(StoredSessions.layer)
)
