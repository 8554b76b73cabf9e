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
import { DistinctTargets } from "./DistinctTargets.ts"
import { FORMATS } from "./Formats.ts"
import { type WholeSession } from "./Sample.ts"
import { type SampleOptions } from "./ExtractOptions.ts"
import * as LocalModel from "./LocalModel.ts"
import { Placeholders } from "./Placeholders.ts"
import { Redactor } from "./Redaction.ts"
import * as SessionSurvey from "./SessionSurvey.ts"
import { type Look, type Question, type Selected } from "./SessionSurvey.ts"
import { type ToldContexts } from "./ToldContexts.ts"
import { cutSession, toLines } from "./internal/sessionLines.ts"

/** How sessions become lines; plain data, so that it can be sent to other threads. */
export interface WorkSettings extends SampleOptions {
  readonly told: ToldContexts
  /** Whose tokens are counted or written. */
  readonly model?: LocalModel.ModelFiles
}

/** Sessions that may have targets in common, in the order in which they were begun; or the last ones of them. */
export interface Kin {
  readonly sessions: ReadonlyArray<Selected>
  /** Keys of the targets that those before them have; see DistinctTargets.ts. */
  readonly held: ReadonlyArray<string>
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
export const here = (source: SessionSource["Service"], settings: WorkSettings): Workers => {
  const redactor = redactorOf(settings)
  const { wholeSession } = FORMATS[settings.format]
  let model: LocalModel.LocalModel | undefined

  const part = Effect.fnUntraced(function* (selected: Selected, distinct: DistinctTargets): Effect.fn.Return<MadePart> {
    const read = yield* Effect.result(source.read(selected.ref))
    const { path } = selected.ref
    const nothing = (row: MadePart["row"]): MadePart => ({ row, lines: [], held: [] })
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
    // One file that breaks us (values nested beyond the stack, say) must not end the run for all others.
    return yield* Effect.sync(() => {
      const known = {
        distinct,
        redactor,
        fingerprints: new Set<string>(),
        ...(model === undefined ? {} : { model })
      }
      const made = toLines(cutSession(read.success, selected, settings, settings.told), known, settings)
      const held = distinct.newKeys()
      const whole = wholeSession === undefined ? undefined : asWhole(made, read.success, wholeSession, redactor)
      return { ...(whole ?? made), held }
    }).pipe(
      Effect.catchDefect((defect) => Effect.succeed(nothing({ path, outcome: "unreadable", detail: String(defect) })))
    )
  })

  return {
    width: 1,
    look: (ref, question) => Effect.provideService(SessionSurvey.look(ref, question), SessionSource, source),
    parts: ({ held, sessions }) =>
      Stream.suspend(() => {
        const distinct = new DistinctTargets(held)
        return Stream.mapEffect(Stream.fromIterable(sessions), (selected) => part(selected, distinct))
      })
  }
}

/** The session itself in the place of its lines. */
const asWhole = (
  { row }: Pick<MadePart, "row">,
  session: Session.Session,
  { project, validate }: WholeSession,
  redactor: Redactor | undefined
): Omit<MadePart, "held"> => {
  const { volume } = row
  if (row.outcome !== "kept" || volume === undefined) return { row, lines: [] }
  const { bytes, dropped, fileName, redacted } = project(session, redactor, row.path)
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
