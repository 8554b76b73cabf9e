/** Workers in this thread: read a session, cut it into samples, and make its lines. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionBudget from "@pi-sessions/core/SessionBudget"
import { FORMATS } from "@pi-sessions/formats/Formats"
import * as LocalModel from "@pi-sessions/formats/model/LocalModel"
import { type WholeSession } from "@pi-sessions/formats/SampleFormat"
import { DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type ReportRow } from "../ExtractReport.ts"
import * as SessionSurvey from "../plan/SessionSurvey.ts"
import { type Selected } from "../plan/SessionSurvey.ts"
import { cutSession } from "../parts/cutSession.ts"
import { type MadePart } from "../parts/DatasetPart.ts"
import { redactorOf } from "../parts/redactorOf.ts"
import { type KnownLines, toLines } from "../parts/sessionLines.ts"
import { type WorkSettings, type WorkSign, type Workers } from "./WorkerPool.ts"

export const make = (source: SessionSource["Service"], settings: WorkSettings, sign?: WorkSign): Workers => {
  const partOf = partMaker(source, settings, sign)
  return {
    width: 1,
    look: (ref, question) =>
      Effect.suspend(() => {
        sign?.begin(0)
        return SessionSurvey.look(ref, question, budgetOf(ref, settings, sign))
      }).pipe(Effect.provideService(SessionSource, source)),
    parts: ({ held, sessions, stopped }) =>
      Stream.suspend(() => {
        const distinct = new DistinctTargets(held)
        return Stream.mapEffect(Stream.fromIterable(sessions.entries()), ([at, selected]) => {
          const row = stopped?.get(selected.ref.path)
          if (row !== undefined) return Effect.succeed(partWithout(row))
          sign?.begin(at)
          return partOf(selected, distinct)
        })
      })
  }
}

const budgetOf = ({ sizeBytes }: SessionRef, { limits = {} }: WorkSettings, sign: WorkSign | undefined) =>
  SessionBudget.of(limits, sizeBytes, sign?.stage)

/** Returns the function that makes the part of a session. If that fails, the row says why. */
const partMaker = (source: SessionSource["Service"], settings: WorkSettings, sign: WorkSign | undefined) => {
  const redactor = redactorOf(settings.redaction)
  const { wholeSession } = FORMATS[settings.format]
  let model: LocalModel.LocalModel | undefined

  return Effect.fnUntraced(function* (selected: Selected, distinct: DistinctTargets): Effect.fn.Return<MadePart> {
    const { ref } = selected
    const budget = budgetOf(ref, settings, sign)
    // A file that is too large is not read.
    const refused = attempt(selected, () => budget.charge("read", ref.sizeBytes, ref.sizeBytes))
    if (refused !== undefined) return partWithout(refused)
    const read = yield* Effect.result(source.read(ref))
    if (Result.isFailure(read)) {
      const { failure } = read
      const { path } = ref
      return partWithout(
        failure._tag === "NotASession"
          ? { path, outcome: "not_a_session" }
          : { path, outcome: "unreadable", detail: failure.reason }
      )
    }
    // The settings are made only of models that can be loaded.
    if (settings.model !== undefined) model ??= yield* Effect.orDie(LocalModel.make(settings.model))
    let made: MadePart | undefined
    const failed = attempt(selected, () => {
      const known = {
        distinct,
        redactor,
        budget,
        fingerprints: new Set<string>(),
        ...(model === undefined ? {} : { model })
      }
      const lines = toLines(cutSession(read.success, selected, settings, settings.told, budget), known, settings)
      const whole = wholeSession === undefined ? undefined : asWhole(lines, read.success, wholeSession, known)
      made = { ...(whole ?? lines), held: distinct.newKeys() }
    })
    if (made !== undefined) return made
    // Later kin may have the targets that this session does not give.
    distinct.forget()
    return partWithout(failed ?? { path: ref.path, outcome: "unreadable" })
  })
}

const partWithout = (row: ReportRow): MadePart => ({ row, lines: [], held: [] })

/** Runs a part of the work on a session. Returns the session's row when it throws. */
const attempt = (selected: Selected, work: () => void): ReportRow | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    return SessionSurvey.failedRow(selected, error)
  }
}

/** Replaces the lines of a session by its file. */
const asWhole = (
  { row }: Pick<MadePart, "row">,
  session: Session.Session,
  { project, validate }: WholeSession,
  { budget, redactor }: KnownLines
): Omit<MadePart, "held"> => {
  if (row.outcome !== "kept" || row.volume === undefined) return { row, lines: [] }
  const { bytes, dropped, fileName, redacted } = project(session, redactor, row.path, budget)
  const { samples_dropped: _, ...rest } = row
  const checked = validate(bytes)
  if (Result.isFailure(checked)) {
    return { row: { ...rest, outcome: "invalid_sample", detail: checked.failure.message }, lines: [] }
  }
  // The session holds its own tools.
  const { tools: _tools, ...volume } = row.volume
  return {
    row: { ...rest, volume: { ...volume, samples: 1, exact: 0, redacted, dropped } },
    lines: [],
    files: [{ name: fileName, bytes }]
  }
}
