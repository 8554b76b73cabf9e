/** Runs `store migrate`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { CommandFailed } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import * as Table from "../../../print/Table.ts"
import { type MigrateInput } from "../../store.ts"
import { counted, words } from "../../../print/Words.ts"
import { type Row, candidates, migrateOne } from "./MigrateFile.ts"
import { type FoundFile, nothing, refuse, search, sizeOf } from "../StoreSearch.ts"
import * as StoreServices from "../StoreServices.ts"

/** Outcomes of files that are not counted as sessions. */
const PASSED_OVER: ReadonlySet<Row["outcome"]> = new Set(["superseded", "not_a_session"])

/** Findings printed for one session. `--json` has all. */
const FINDINGS_MAX = 20

/** Shows the progress of one session's migration. */
const progressOf = Effect.fnUntraced(function* (file: FoundFile, n: number, total: number) {
  const invocation = yield* Invocation
  const path = yield* Path.Path
  const of = `${n} of ${total}: ${path.basename(file.path)}`
  const size = file.format === "sqlite_v1" ? 0 : yield* Effect.orElseSucceed(sizeOf(file), () => 0)
  yield* invocation.progress(of)
  return (bytes: number) =>
    invocation.progress(
      `${of}, ${bytes.toLocaleString("en-US")}${size === 0 ? "" : ` of ${size.toLocaleString("en-US")}`} bytes${bytes === size ? ", verifying" : ""}`
    )
})

const OUTCOMES = ["migrated", "already", "refused", "failed", "superseded", "not_a_session"] as const

const count = (rows: ReadonlyArray<Row>) =>
  OUTCOMES.map((outcome) => [outcome, rows.filter((row) => row.outcome === outcome).length] as const).filter(
    ([, count]) => count > 0
  )

/** Problems of a session, and later changes of its file. */
const notesOf = ({ path, message, findings = [], sourceGrewBy = 0, sourceChanged }: Row): ReadonlyArray<string> => {
  const more = findings.length - FINDINGS_MAX
  const grew = `${counted(sourceGrewBy, "byte")} written to it after it was migrated`
  return [
    ...(findings.length === 0 && message !== undefined ? [`warning: ${message}`] : []),
    ...findings
      .slice(0, FINDINGS_MAX)
      .map(({ line, byteOffset, message }) => `refused: ${path}:${line} (byte ${byteOffset}): ${message}`),
    ...(more > 0 ? [`refused: ${path}: and ${more.toLocaleString("en-US")} more`] : []),
    ...(sourceChanged === "grown" ? [`warning: ${path}: ${grew}; the session's active store lacks them`] : []),
    ...(sourceChanged === "rewritten"
      ? [`warning: ${path}: rewritten after it was migrated; the session's active store holds the earlier content`]
      : [])
  ]
}

export const run = Effect.fnUntraced(function* (input: MigrateInput) {
  const invocation = yield* Invocation
  const given = input.paths.map(invocation.resolve)
  const found = yield* search(given, Option.getOrUndefined(input.from))
  const skipped = [...found.skipped, ...refuse(found.retired)]
  const { files, rows: settled } = yield* candidates(found)
  const rows: Array<Row> = [...settled]
  for (const [i, file] of files.entries()) {
    const onProgress = yield* progressOf(file, i + 1, files.length)
    rows.push(yield* migrateOne(file, onProgress))
  }
  yield* invocation.progress("")
  const sessions = rows.filter(({ outcome }) => !PASSED_OVER.has(outcome))
  if (sessions.length === 0) {
    const others = rows.length === 0 ? [] : [`${counted(rows.length, "file")} without one`]
    return yield* nothing("no session found to migrate", given, skipped, others)
  }
  for (const { path, reason } of skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  for (const note of sessions.flatMap(notesOf)) yield* invocation.note(note)
  const counts = count(rows)
  const summary = counts.map(([outcome, count]) => `${count} ${words(outcome)}`).join(", ")
  yield* invocation.result(
    input.json
      ? JSON.stringify({ summary: Object.fromEntries(counts), sessions: rows, skipped: skipped }, null, 2)
      : Table.render(
          ["outcome", "entries", "bytes", "session"],
          sessions.map(({ outcome, entries, bytes, container, path }) => [
            outcome,
            entries ?? "",
            bytes ?? "",
            container ?? path
          ])
        ).join("\n")
  )
  const bad = sessions.filter(({ outcome }) => outcome === "refused" || outcome === "failed").length
  if (bad + skipped.length > 0) return yield* new CommandFailed({ text: `not all was migrated: ${summary}` })
  yield* invocation.note(summary)
}, Effect.provide(StoreServices.layer))
