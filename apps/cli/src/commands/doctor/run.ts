/** Runs `doctor`. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as SessionDoctor from "@pi-sessions/catalog/SessionDoctor"
import type { Finding } from "@pi-sessions/catalog/SessionFinding"
import * as SessionRepair from "@pi-sessions/catalog/SessionRepair"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as EngineLimit from "@pi-sessions/session-file/EngineLimit"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { CommandFailed, UsageError } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import { Invocation } from "../../Invocation.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as DoctorText from "../../print/DoctorText.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import { counted } from "../../print/Words.ts"
import { type Input } from "../doctor.ts"
import * as NamedSessions from "./NamedSessions.ts"
import * as RepairedCopy from "./RepairedCopy.ts"

/** Reads a session, with or without a header. */
const readAnyway = Effect.fnUntraced(function* ({ ref }: NamedSessions.NamedSession) {
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

/** Whether the header's directory exists; undefined if the header names none. */
const cwdExists = Effect.fnUntraced(function* (session: Session.Session) {
  const fs = yield* FileSystem.FileSystem
  const cwd = stringAt(session.header?.decode() ?? {}, "cwd")
  if (cwd === undefined || cwd === "") return undefined
  return yield* fs.stat(cwd).pipe(
    Effect.map((info) => info.type === "Directory"),
    Effect.orElseSucceed(() => false)
  )
})

/** A .jsonl file from a directory may be anything; a session without its header still has messages. */
const isOther = (session: Session.Session, { named }: NamedSessions.NamedSession): boolean =>
  !named && session.header === undefined && !session.tree.getEntries().some(({ role }) => role !== undefined)

/** Examines one session; undefined if it is none. The steps cannot be interrupted, so a signal is handled between them. */
const examineOne = Effect.fnUntraced(function* (one: NamedSessions.NamedSession, fix: boolean) {
  const { path } = one.ref
  const session = yield* readAnyway(one)
  yield* Interruption.point
  if (isOther(session, one)) return undefined
  const findings = SessionDoctor.examine(session, { cwdExists: yield* cwdExists(session) })
  yield* Interruption.point
  const report = { path, entries: session.tree.getEntries().length, findings, repaired: undefined }
  if (!fix || !findings.some((finding) => finding.mend !== null)) return report
  const { session: whole, changes } = SessionRepair.repair(session)
  yield* Interruption.point
  if (changes.length === 0) return report
  const copy = yield* RepairedCopy.write(path, whole)
  const written = Session.read([...Session.print(whole.lines)])
  yield* Interruption.point
  const left = SessionDoctor.examine(written)
  yield* Interruption.point
  return { ...report, repaired: { ...copy, changes, left: left.filter(isError) } }
})

const isError = ({ severity }: Finding): boolean => severity === "error"

const examineAll = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const { sessions, unread } = yield* NamedSessions.find(input.sessions)
  const reports: Array<DoctorText.FileReport> = []
  const skipped = [...unread]
  for (const [index, one] of sessions.entries()) {
    const { path } = one.ref
    yield* invocation.progress(`${index + 1} of ${sessions.length}: ${path}`)
    const report = yield* examineOne(one, input.fix).pipe(
      EngineLimit.named(path),
      Effect.catchTag("SessionFileError", (error) => Effect.succeed(error))
    )
    if (report instanceof SessionFileError) skipped.push({ path, reason: report.reason })
    else if (report !== undefined) reports.push(report)
  }
  yield* invocation.progress("")
  return { reports, skipped, found: sessions.length }
})

/** The lines of all reports. In a pipe, paths stay as they are. */
function* printed(reports: ReadonlyArray<DoctorText.FileReport>, isTerminal: boolean): Generator<string> {
  for (const report of reports) {
    for (const line of DoctorText.lines(report)) yield isTerminal ? TerminalText.harmless(line) : line
  }
}

/** Fails if errors are left or files were skipped. */
const failIfLeft = Effect.fnUntraced(function* (
  reports: ReadonlyArray<DoctorText.FileReport>,
  skipped: number,
  fix: boolean
) {
  const errors = reports.flatMap(({ findings, repaired }) =>
    repaired === undefined ? findings.filter(isError) : repaired.left
  )
  if (errors.length > 0) {
    const how = fix ? "could not be repaired" : "found; --fix writes copies without those that can be repaired"
    return yield* new CommandFailed({ text: `${counted(DoctorText.total(errors), "error")} ${how}` })
  }
  if (skipped > 0) return yield* new CommandFailed({ text: `${counted(skipped, "file")} not examined` })
})

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  if (input.sessions.includes(""))
    return yield* new UsageError({ text: "a name is empty; give a session or a directory" })
  const { reports, skipped, found } = yield* examineAll(input)
  for (const { path, reason } of skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  if (reports.length === 0 && skipped.length === 0) {
    const what = found === 0 ? "no .jsonl file" : `${counted(found, ".jsonl file")}, none of them a session`
    const where = input.sessions.map(invocation.resolve).join(", ")
    return yield* new UsageError({ text: `no session found in ${where}: ${what}` })
  }
  const { isTerminal } = yield* ResultPrinter.layout()
  yield* ResultPrinter.lines(input.json ? DoctorText.document(reports, skipped) : printed(reports, isTerminal))
  yield* invocation.note(DoctorText.summary(reports))
  yield* failIfLeft(reports, skipped.length, input.fix)
}, Effect.provide(StoredSessions.layer))
