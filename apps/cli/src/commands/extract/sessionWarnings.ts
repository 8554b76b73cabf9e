/** Warnings about single sessions that gave no training data. */
import * as Effect from "effect/Effect"
import { type ReportRow, isStopped } from "@pi-sessions/extract/ExtractReport"
import { CommandFailed } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { words } from "../../print/Words.ts"

const isProblem = ({ outcome, stage }: ReportRow): boolean =>
  outcome === "unreadable" || outcome === "invalid_sample" || stage !== undefined || isStopped({ outcome })

/** What the user can do. */
const REMEDIES: { readonly [outcome: string]: string } = {
  over_budget: "; --max-steps and --max-session-mb change the limits",
  timed_out: "; give it more time with --session-timeout",
  out_of_memory: "; try fewer --workers, or a larger NODE_OPTIONS=--max-old-space-size"
}

export const print = Effect.fnUntraced(function* (rows: ReadonlyArray<ReportRow>) {
  const invocation = yield* Invocation
  for (const row of rows.filter(isProblem)) {
    const { detail, outcome, path } = row
    yield* invocation.note(`warning: ${path}: ${words(outcome)}: ${detail ?? ""}${REMEDIES[outcome] ?? ""}`)
  }
})

/** Fails, after all other work, if work on a session was stopped: another run may give more samples. */
export const failIfStopped = (rows: ReadonlyArray<ReportRow>) => {
  const count = rows.filter(isStopped).length
  if (count === 0) return Effect.void
  const sessions = count === 1 ? "1 session was" : `${count} sessions were`
  return Effect.fail(
    new CommandFailed({ text: `${sessions} stopped and left out; all others are there. The next run tries again` })
  )
}
