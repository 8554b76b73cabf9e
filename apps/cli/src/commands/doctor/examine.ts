/** Running `doctor` over the sessions that the arguments lead to. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as SessionDoctor from "@pi-sessions/catalog/SessionDoctor"
import type { Finding } from "@pi-sessions/catalog/SessionFinding"
import * as SessionRepair from "@pi-sessions/catalog/SessionRepair"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as DoctorReport from "./DoctorReport.ts"
import * as RepairedCopy from "./RepairedCopy.ts"

export interface Input {
  readonly paths: ReadonlyArray<string>
  readonly fix: boolean
  readonly json: boolean
}

/** What a SessionFileError says of a path that is not there. */
const NOT_THERE = "no such file or directory"

/** The session at a path, also one without a header. */
const readAnyway = Effect.fnUntraced(function* (ref: SessionRef) {
  const fs = yield* FileSystem.FileSystem
  const source = yield* SessionSource
  return yield* source
    .read(ref)
    .pipe(
      Effect.catchTag("NotASession", () =>
        Effect.map(fs.readFile(ref.path).pipe(Effect.mapError(fromPlatform(ref.path, "read"))), Session.read)
      )
    )
})

/** Whether a header's directory is there; undefined where it does not name one. */
const cwdExists = Effect.fnUntraced(function* (session: Session.Session) {
  const fs = yield* FileSystem.FileSystem
  const cwd = stringAt(session.header?.decode() ?? {}, "cwd")
  if (cwd === undefined || cwd === "") return undefined
  return yield* fs.stat(cwd).pipe(
    Effect.map((info) => info.type === "Directory"),
    Effect.orElseSucceed(() => false)
  )
})

/** A .jsonl file that was found, not named, may be anything; a session that lost its header still holds messages. */
const isOther = (session: Session.Session, named: boolean): boolean =>
  !named && session.header === undefined && !session.tree.getEntries().some(({ role }) => role !== undefined)

const examineOne = Effect.fnUntraced(function* (ref: SessionRef, named: boolean, fix: boolean) {
  const session = yield* readAnyway(ref)
  if (isOther(session, named)) return undefined
  const findings = SessionDoctor.examine(session, { cwdExists: yield* cwdExists(session) })
  const report = { path: ref.path, entries: session.tree.getEntries().length, findings }
  if (!fix || !findings.some((finding) => finding.mend !== null)) return { ...report, repaired: undefined }
  const { session: whole, changes } = SessionRepair.repair(session)
  if (changes.length === 0) return { ...report, repaired: undefined }
  const path = yield* RepairedCopy.write(ref.path, whole)
  const left = SessionDoctor.examine(Session.read([...Session.print(whole.lines)]))
  return { ...report, repaired: { path, changes, left: left.filter(isError) } }
})

const isError = ({ severity }: Finding): boolean => severity === "error"

const examineAll = Effect.fnUntraced(function* (input: Input, paths: ReadonlyArray<string>) {
  const invocation = yield* Invocation
  const source = yield* SessionSource
  const listing = yield* source.list.pipe(
    Effect.catchTag("SessionFileError", (error) =>
      Effect.fail(error.reason === NOT_THERE ? new UsageError({ text: error.message }) : error)
    )
  )
  const reports: Array<DoctorReport.FileReport> = []
  const skipped = [...listing.skipped]
  const named = new Set(paths)
  for (const [index, ref] of listing.sessions.entries()) {
    yield* invocation.progress(`${index + 1} of ${listing.sessions.length}: ${ref.path}`)
    const report = yield* examineOne(ref, named.has(ref.path), input.fix).pipe(
      Effect.catchTag("SessionFileError", (error) => Effect.succeed(error))
    )
    if (report instanceof SessionFileError) skipped.push({ path: ref.path, reason: report.reason })
    else if (report !== undefined) reports.push(report)
  }
  yield* invocation.progress("")
  return { reports, skipped, found: listing.sessions.length }
})

export const run = Effect.fnUntraced(
  function* (input: Input) {
    const invocation = yield* Invocation
    if (input.paths.includes(""))
      return yield* new UsageError({ text: "a path is empty; give a session file or a directory" })
    const paths = input.paths.map(invocation.resolve)
    const { reports, skipped, found } = yield* examineAll(input, paths).pipe(
      Effect.provide(StoredSessions.layerPaths(paths), { local: true })
    )
    for (const { path, reason } of skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
    if (reports.length === 0 && skipped.length === 0) {
      const what =
        found === 0 ? "no .jsonl file" : `${found} .jsonl ${found === 1 ? "file" : "files"}, none of them a session`
      return yield* new UsageError({ text: `no session found in ${paths.join(", ")}: ${what}` })
    }
    if (input.json) yield* invocation.result(DoctorReport.document(reports, skipped))
    else for (const line of reports.flatMap(DoctorReport.lines)) yield* invocation.result(line)
    yield* invocation.note(DoctorReport.summary(reports))
    const errors = reports.flatMap(({ findings, repaired }) =>
      repaired === undefined ? findings.filter(isError) : repaired.left
    )
    if (errors.length > 0) {
      const how = input.fix ? "could not be mended" : "found; --fix writes copies without those that can be mended"
      return yield* new CommandFailed({ text: `${DoctorReport.counted(errors.length, "error")} ${how}` })
    }
    if (skipped.length > 0)
      return yield* new CommandFailed({ text: `${DoctorReport.counted(skipped.length, "file")} not examined` })
  },
  Effect.ensuring(Effect.flatMap(Invocation, ({ progress }) => progress("")))
)
