/** Workers survey sessions and make their parts, in the calling thread or in others. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Stage } from "@pi-sessions/core/SessionBudget"
import { type ModelFiles } from "@pi-sessions/formats/model/LocalModel"
import { type RequestContexts } from "@pi-sessions/samples/RequestContexts"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type RedactionSettings, type SampleOptions } from "../ExtractOptions.ts"
import { type ReportRow } from "../ExtractReport.ts"
import { type Look, type Question, type Selected } from "../plan/SessionSurvey.ts"
import { type MadePart, type StoredPart } from "../parts/DatasetPart.ts"

/** How sessions become lines. Plain data, which can be sent to threads. */
export interface WorkSettings extends SampleOptions {
  readonly redaction: RedactionSettings | "off"
  readonly told: RequestContexts
  /** The model whose tokens are counted or written. */
  readonly model?: ModelFiles
}

/** A group of kin in order of time, or the rest of one. */
export interface Kin {
  readonly sessions: ReadonlyArray<Selected>
  /** Keys of targets of the sessions before them in the group; see DistinctTargets.ts. */
  readonly held: ReadonlyArray<string>
  /** Rows of sessions that were stopped, by path. They are not worked on again. */
  readonly stopped?: ReadonlyMap<string, ReportRow>
}

/** Receives what a worker works on, so that the right session is reported when the worker is stopped. */
export interface WorkSign {
  /** Work begins on a session, by its index in the request. */
  readonly begin: (at: number) => void
  readonly stage: (stage: Stage) => void
}

export interface Workers {
  /** Requests to keep under way, waiting ones included. 1: requests are processed in the calling thread. */
  readonly width: number
  /** Surveys a file. A file that cannot be read is a row. */
  readonly look: (ref: SessionRef, question: Question) => Effect.Effect<Look, SessionFileError>
  /** A part for each session, in their order. Files that workers write are in `folder`. */
  readonly parts: (kin: Kin, folder: string) => Stream.Stream<MadePart | StoredPart, SessionFileError>
}

export class WorkerPool extends Context.Service<
  WorkerPool,
  {
    /** Workers for sessions of so many bytes together. They end with the scope. */
    readonly open: (settings: WorkSettings, bytes: number) => Effect.Effect<Workers, SessionFileError, Scope.Scope>
  }
>()("@pi-sessions/extract/WorkerPool") {
  /** Works in the calling thread, with one session in memory at a time. Requires a `SessionSource`. */
  static readonly layer = Layer.effect(
    WorkerPool,
    Effect.map(SessionSource, (source) => WorkerPool.of({ open: (settings) => local(source, settings) }))
  )
}

/** Workers in the calling thread. Loads the modules that they need. */
export const local = (source: SessionSource["Service"], settings: WorkSettings): Effect.Effect<Workers> =>
  Effect.map(
    Effect.promise(() => import("./localWorkers.ts")),
    ({ make }) => make(source, settings)
  )

/** For merging, where all parts must exist. */
export const noWorkers: Workers = {
  width: 1,
  look: () => Effect.die("shards are joined without a survey"),
  parts: ({ sessions }) =>
    Stream.fail(
      new SessionFileError({
        path: sessions[0]?.ref.path ?? "",
        operation: "read",
        reason: "its lines are not in the shards as they were written; make its shard anew"
      })
    )
}
