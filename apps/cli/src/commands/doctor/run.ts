/** Running `doctor` over the sessions that the arguments lead to. */
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
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as DoctorReport from "../../print/DoctorText.ts"
import * as Patients from "./NamedSessions.ts"
import * as RepairedCopy from "./RepairedCopy.ts"

export interface Input {
  readonly sessions: ReadonlyArray<string>
  readonly fix: boolean
  readonly json: boolean
}

/** The session of a patient, also one without a header. */
const readAnyway = Effect.fnUntraced(function* ({ ref }: Patients.Patient) {
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
const isOther = (session: Session.Session, { named }: Patients.Patient): boolean =>
  !named && session.header === undefined && !session.tree.getEntries().some(({ role }) => role !== undefined)

/** Each step may take long, and none can be interrupted: whoever interrupts is heard between them. */
const examineOne = Effect.fnUntraced(function* (patient: Patients.Patient, fix: boolean) {
  const { path } = patient.ref
  const session = yield* readAnyway(patient)
  yield* Interruption.point
  if (isOther(session, patient)) return undefined
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
  const { patients, unread } = yield* Patients.find(input.sessions)
  const reports: Array<DoctorReport.FileReport> = []
  const skipped = [...unread]
  for (const [index, patient] of patients.entries()) {
    const { path } = patient.ref
    yield* invocation.progress(`${index + 1} of ${patients.length}: ${path}`)
    const report = yield* examineOne(patient, input.fix).pipe(
      EngineLimit.named(path),
      Effect.catchTag("SessionFileError", (error) => Effect.succeed(error))
    )
    if (report instanceof SessionFileError) skipped.push({ path, reason: report.reason })
    else if (report !== undefined) reports.push(report)
  }
  yield* invocation.progress("")
  return { reports, skipped, found: patients.length }
})

/** Paths go to a pipe as they are. */
function* printed(reports: ReadonlyArray<DoctorReport.FileReport>, isTerminal: boolean): Generator<string> {
  for (const report of reports) {
    for (const line of DoctorReport.lines(report)) yield isTerminal ? TerminalText.harmless(line) : line
  }
}

export const run = Effect.fnUntraced(
  function* (input: Input) {
    const invocation = yield* Invocation
    if (input.sessions.includes(""))
      return yield* new UsageError({ text: "a name is empty; give a session or a directory" })
    const { reports, skipped, found } = yield* examineAll(input)
    for (const { path, reason } of skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
    if (reports.length === 0 && skipped.length === 0) {
      const what =
        found === 0 ? "no .jsonl file" : `${found} .jsonl ${found === 1 ? "file" : "files"}, none of them a session`
      const where = input.sessions.map(invocation.resolve).join(", ")
      return yield* new UsageError({ text: `no session found in ${where}: ${what}` })
    }
    const { isTerminal } = yield* ResultPrinter.layout()
    if (input.json) yield* ResultPrinter.lines(DoctorReport.document(reports, skipped))
    else yield* ResultPrinter.lines(printed(reports, isTerminal))
    yield* invocation.note(DoctorReport.summary(reports))
    const errors = reports.flatMap(({ findings, repaired }) =>
      repaired === undefined ? findings.filter(isError) : repaired.left
    )
    if (errors.length > 0) {
      const how = input.fix ? "could not be mended" : "found; --fix writes copies without those that can be mended"
      return yield* new CommandFailed({ text: `${DoctorReport.counted(DoctorReport.total(errors), "error")} ${how}` })
    }
    if (skipped.length > 0)
      return yield* new CommandFailed({ text: `${DoctorReport.counted(skipped.length, "file")} not examined` })
  },
  Effect.catchTag("PlatformError", (error) => Effect.fail(new CommandFailed({ text: error.message }))),
  Effect.ensuring(Effect.flatMap(Invocation, ({ progress }) => progress(""))),
  Effect.provide(StoredSessions.layer)
)
