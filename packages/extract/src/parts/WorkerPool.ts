/**
 * What is done with sessions one by one: looked at, and turned into lines. Here in this thread; a program may bring a
 * layer that spreads it over several, as the command line does.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type MadePart, type StoredPart } from "./DatasetPart.ts"
import { DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type ReportRow } from "../ExtractReport.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type WholeSession } from "@pi-sessions/formats/Sample"
import { type SampleOptions } from "../ExtractOptions.ts"
import * as LocalModel from "@pi-sessions/formats/model/LocalModel"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import * as SessionBudget from "@pi-sessions/core/SessionBudget"
import { type Stage } from "@pi-sessions/core/SessionBudget"
import * as SessionSurvey from "../plan/SessionSurvey.ts"
import { type Look, type Question, type Selected } from "../plan/SessionSurvey.ts"
import { type RequestContexts } from "@pi-sessions/samples/RequestContexts"
import { type KnownLines, cutSession, toLines } from "./sessionLines.ts"

/** How sessions become lines; plain data, so that it can be sent to other threads. */
export interface WorkSettings extends SampleOptions {
  readonly told: RequestContexts
  /** Whose tokens are counted or written. */
  readonly model?: LocalModel.ModelFiles
}

/** Sessions that may have targets in common, in the order in which they were begun; or the last ones of them. */
export interface Kin {
  readonly sessions: ReadonlyArray<Selected>
  /** Keys of the targets that those before them have; see DistinctTargets.ts. */
  readonly held: ReadonlyArray<string>
  /** Rows of sessions among them that are not to be worked on again, by path: they were stopped. */
  readonly stopped?: ReadonlyMap<string, ReportRow>
}

/** Is told what is worked on, so that a thread that does not come back can be stopped for the right session. */
export interface WorkSign {
  /** Work on a session begins: one of those that were asked for, by its place. */
  readonly begin: (at: number) => void
  readonly stage: (stage: Stage) => void
}

/** Whoever does it. */
export interface Workers {
  /** How many things are done at once. */
  readonly width: number
  /** What cannot be read is a row; it fails only where there is nobody to look. */
  readonly look: (ref: SessionRef, question: Question) => Effect.Effect<Look, SessionFileError>
  /** A part for each of the sessions, in their order. Where lines go to files, these are new ones in `folder`. */
  readonly parts: (kin: Kin, folder: string) => Stream.Stream<MadePart | StoredPart, SessionFileError>
}

export class WorkerPool extends Context.Service<
  WorkerPool,
  {
    /** Workers for sessions of so many bytes in all, for as long as the scope lasts. */
    readonly open: (settings: WorkSettings, bytes: number) => Effect.Effect<Workers, SessionFileError, Scope.Scope>
  }
>()("@pi-sessions/extract/WorkerPool") {
  /** In this thread, one session in memory at a time; reads from the `SessionSource` in its context. */
  static readonly layer = Layer.effect(
    WorkerPool,
    Effect.map(SessionSource, (source) => WorkerPool.of({ open: (settings) => Effect.succeed(here(source, settings)) }))
  )
}

/** This thread. */
export const here = (source: SessionSource["Service"], settings: WorkSettings, sign?: WorkSign): Workers => {
  const redactor = redactorOf(settings)
  const { wholeSession } = FORMATS[settings.format]
  let model: LocalModel.LocalModel | undefined
  const budgetOf = (ref: SessionRef) => SessionBudget.of(settings.limits ?? {}, ref.sizeBytes, sign?.stage)

  const part = Effect.fnUntraced(function* (selected: Selected, distinct: DistinctTargets): Effect.fn.Return<MadePart> {
    const { ref } = selected
    const { path } = ref
    const budget = budgetOf(ref)
    // A file that is too large is not read at all.
    const refused = attempt(selected, () => budget.charge("read", ref.sizeBytes, ref.sizeBytes))
    if (refused !== undefined) return nothing(refused)
    const read = yield* Effect.result(source.read(ref))
    if (Result.isFailure(read)) {
      const { failure } = read
      return nothing(
        failure._tag === "NotASession"
          ? { path, outcome: "not_a_session" }
          : { path, outcome: "unreadable", detail: failure.reason }
      )
    }
    // Whoever made the settings has tried it.
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
    // Sessions that come later may have the targets that this one does not give.
    distinct.forget()
    return nothing(failed ?? { path, outcome: "unreadable" })
  })

  return {
    width: 1,
    look: (ref, question) =>
      Effect.suspend(() => {
        sign?.begin(0)
        return SessionSurvey.look(ref, question, budgetOf(ref))
      }).pipe(Effect.provideService(SessionSource, source)),
    parts: ({ held, sessions, stopped }) =>
      Stream.suspend(() => {
        const distinct = new DistinctTargets(held)
        return Stream.mapEffect(Stream.fromIterable(sessions.entries()), ([at, selected]) => {
          const row = stopped?.get(selected.ref.path)
          if (row !== undefined) return Effect.succeed(nothing(row))
          sign?.begin(at)
          return part(selected, distinct)
        })
      })
  }
}

const nothing = (row: MadePart["row"]): MadePart => ({ row, lines: [], held: [] })

/** Does a part of the work on a session; gives the session's row where that fails, since no session may end a run. */
const attempt = (selected: Selected, work: () => void): ReportRow | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    return SessionSurvey.failedRow(selected, error)
  }
}

/** The session itself in the place of its lines. */
const asWhole = (
  { row }: Pick<MadePart, "row">,
  session: Session.Session,
  { project, validate }: WholeSession,
  { budget, redactor }: KnownLines
): Omit<MadePart, "held"> => {
  if (row.outcome !== "kept" || row.volume === undefined) return { row, lines: [] }
  const { bytes, dropped, fileName, redacted } = project(session, redactor, row.path, budget)
  // The session holds its own tools.
  const { tools: _tools, ...volume } = row.volume
  const checked = validate(bytes)
  const { samples_dropped: _, ...told } = row
  if (Result.isFailure(checked)) {
    return { row: { ...told, outcome: "invalid_sample", detail: checked.failure.message }, lines: [] }
  }
  return {
    row: { ...told, volume: { ...volume, samples: 1, exact: 0, redacted, dropped } },
    lines: [],
    files: [{ name: fileName, bytes }]
  }
}

/** Undefined where nothing is to be taken out. */
export const redactorOf = ({ redaction }: Pick<SampleOptions, "redaction">): Redactor | undefined => {
  if (redaction === "off" || redaction === undefined) return undefined
  return new Redactor({ placeholders: new Placeholders(redaction.key), exact: redaction.exact ?? [] })
}
