/** A thread becomes a session file that Pi continues: the service behind `pi-sessions hydrate`. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import {
  type NotASession,
  type SessionFileError,
  type TargetDiverged
} from "@pi-sessions/session-file/SessionFileError"
import { SessionTarget, type Written } from "@pi-sessions/session-file/SessionTarget"
import * as SessionDiagnostic from "@pi-sessions/core/SessionDiagnostic"
import * as LosslessHydration from "./hydrate/LosslessHydration.ts"
import * as MirrorLag from "./hydrate/MirrorLag.ts"
import * as RawTurns from "./hydrate/RawTurns.ts"
import * as SemanticHydration from "./hydrate/SemanticHydration.ts"
import { type Thread, formatDiagnostic } from "./Thread.ts"
import { ThreadSource, type ThreadUnavailable } from "./ThreadSource.ts"

/** The thread holds nothing that a session could be made of. */
export class NothingToHydrate extends Schema.TaggedError<NothingToHydrate>()("NothingToHydrate", {
  ref: Schema.String,
  entries: Schema.Int,
  /** The first thing that was wrong with the thread, if anything was. */
  firstDamage: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const held = this.entries === 0 ? "it holds no entries" : `none of its ${this.entries} entries is a turn`
    return `thread ${this.ref}: nothing to hydrate: ${held}${this.firstDamage === undefined ? "" : ` (${this.firstDamage})`}. Check that it is a thread file: one entry {"id","type","payload"} a line`
  }
}

/** `--mode lossless` was asked for and the thread cannot give the file back byte for byte, or shows that it is behind. */
export class LineageIncomplete extends Schema.TaggedError<LineageIncomplete>()("LineageIncomplete", {
  ref: Schema.String,
  gaps: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `thread ${this.ref}: cannot hydrate without loss: ${listed(this.gaps)}. Start Pi with pi-mirror where the session file is, which sends what is missing, or use --mode auto to hydrate what there is`
  }
}

/** `--session` names a session that the thread does not hold. */
export class SessionNotInThread extends Schema.TaggedError<SessionNotInThread>()("SessionNotInThread", {
  ref: Schema.String,
  sessionId: Schema.String,
  found: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const found = this.found.length === 0 ? "no session by id" : this.found.join(", ")
    return `thread ${this.ref}: no session ${this.sessionId} in it; it holds ${found}`
  }
}

/** Pi would refuse to run in that directory. */
export class CwdMissing extends Schema.TaggedError<CwdMissing>()("CwdMissing", { cwd: Schema.String }) {
  override get message(): string {
    return `${this.cwd}: no such directory, and Pi will not continue a session in a directory that is not there. Make it, or pass another --cwd`
  }
}

export interface HydrateOptions {
  /** `auto` (default): without loss when the lineage is whole, else semantically. */
  readonly mode?: "auto" | "lossless" | "semantic"
  /** What becomes of answered tool calls in semantic hydration; `pairs` by default. */
  readonly tools?: SemanticHydration.ToolMode
  /** Which of several sessions in the thread. */
  readonly sessionId?: string
  /** Leave the header's cwd as it was (lossless only). */
  readonly keepCwd?: boolean
  /** Move a diverged target aside instead of refusing. */
  readonly force?: boolean
}

export interface Hydration extends Written {
  readonly mode: "lossless" | "semantic"
  readonly threadId: string
  readonly sessionId: string
  readonly cwd: string
  /** Entries in the hydrated session, header aside. */
  readonly entries: number
  /** For semantic hydration. */
  readonly summary?: SemanticHydration.Summary
  /** Thread entries that were not used, by type: chunks, request contexts, types unknown here. */
  readonly passedOver: { readonly [type: string]: number }
  /** What the thread shows of lines that Pi wrote and the thread does not hold; for hydration byte for byte. */
  readonly behind: ReadonlyArray<MirrorLag.Lag>
  /** What a person should know: losses, damage. One sentence each. */
  readonly warnings: ReadonlyArray<string>
}

export type HydrateError =
  | ThreadUnavailable
  | NothingToHydrate
  | LineageIncomplete
  | SessionNotInThread
  | CwdMissing
  | SessionFileError
  | TargetDiverged
  | NotASession

const listed = (items: ReadonlyArray<string>): string =>
  items.length <= 3 ? items.join("; ") : `${items.slice(0, 3).join("; ")}; and ${items.length - 3} more`

export class Hydrate extends Context.Service<
  Hydrate,
  {
    /** Hydrates the thread `ref` for `sandboxCwd` into the SessionTarget in context. */
    readonly hydrate: (
      ref: string,
      sandboxCwd: string,
      options?: HydrateOptions
    ) => Effect.Effect<Hydration, HydrateError, SessionTarget>
    /** The contract of seed 000: writes `targetPath` so that `pi --session targetPath` continues in `sandboxCwd`. */
    readonly hydratePiSessionFromThread: (
      ref: string,
      sandboxCwd: string,
      targetPath: string,
      options?: HydrateOptions
    ) => Effect.Effect<Hydration, HydrateError>
  }
>()("@pi-sessions/reconstruction/Hydrate") {
  static readonly layer = Layer.effect(
    Hydrate,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const threads = yield* ThreadSource
      const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()

      /** Pi compares cwd with its own, which the kernel gives without links. */
      const existing = (cwd: string) =>
        fs.stat(cwd).pipe(
          Effect.filterOrFail(
            (info) => info.type === "Directory",
            () => new CwdMissing({ cwd })
          ),
          Effect.andThen(fs.realPath(cwd)),
          Effect.mapError(() => new CwdMissing({ cwd }))
        )

      const hydrate = Effect.fn("Hydrate.hydrate")(function* (
        ref: string,
        sandboxCwd: string,
        options: HydrateOptions = {}
      ): Effect.fn.Return<Hydration, HydrateError, SessionTarget> {
        const target = yield* SessionTarget
        const cwd = yield* existing(sandboxCwd)
        const thread = yield* threads.thread(ref)
        const built = yield* build(ref, thread, cwd, options)
        const written = yield* target.write(built.session, { force: options.force ?? false })
        const header = built.session.header?.decode() ?? {}
        const damage = thread.diagnostics.map((diagnostic) => formatDiagnostic(ref, diagnostic))
        return {
          ...written,
          mode: built.mode,
          threadId: thread.id,
          sessionId: stringAt(header, "id") ?? "",
          cwd: stringAt(header, "cwd") ?? "",
          entries: built.session.tree.getEntries().length,
          ...(built.summary === undefined ? {} : { summary: built.summary }),
          behind: built.behind,
          passedOver: Object.fromEntries(thread.passedOver),
          warnings: [...damage, ...built.warnings]
        }
      })

      const hydratePiSessionFromThread = (
        ref: string,
        sandboxCwd: string,
        targetPath: string,
        options: HydrateOptions = {}
      ) =>
        hydrate(ref, sandboxCwd, options).pipe(
          Effect.provide(SessionTarget.layerFile(targetPath)),
          Effect.provide(services)
        )

      return Hydrate.of({ hydrate, hydratePiSessionFromThread })
    })
  )
}

interface Built {
  readonly session: Session.Session
  readonly mode: Hydration["mode"]
  readonly summary?: SemanticHydration.Summary
  readonly behind: ReadonlyArray<MirrorLag.Lag>
  readonly warnings: ReadonlyArray<string>
}

/** Chooses the way and goes it; nothing is written yet. */
const build = Effect.fnUntraced(function* (
  ref: string,
  thread: Thread,
  cwd: string,
  options: HydrateOptions
): Effect.fn.Return<Built, NothingToHydrate | LineageIncomplete | SessionNotInThread> {
  const mode = options.mode ?? "auto"
  const lineage = LosslessHydration.choose(thread, options.sessionId)
  if (options.sessionId !== undefined && lineage === undefined) {
    const found = [...LosslessHydration.sessionIds(thread)]
    return yield* new SessionNotInThread({ ref, sessionId: options.sessionId, found })
  }
  const warnings: Array<string> = []
  if (mode !== "semantic") {
    const gaps = lineage === undefined ? ["it holds no raw lines"] : LosslessHydration.gaps(lineage)
    if (lineage !== undefined && gaps.length === 0) {
      const behind = MirrorLag.find(thread, lineage)
      const known = behind.filter(({ certain }) => certain).map(({ reason }) => reason)
      if (mode === "lossless" && known.length > 0) return yield* new LineageIncomplete({ ref, gaps: known })
      const session = LosslessHydration.assemble(lineage, options.keepCwd === true ? undefined : cwd)
      for (const { certain, reason } of behind) {
        warnings.push(`the thread ${certain ? "is" : "may be"} behind the session file: ${reason}`)
      }
      for (const diagnostic of session.diagnostics)
        warnings.push(`in the session: ${SessionDiagnostic.format(diagnostic)}`)
      return { session, mode: "lossless", behind, warnings }
    }
    if (mode === "lossless") return yield* new LineageIncomplete({ ref, gaps })
    if (lineage !== undefined) warnings.push(`the raw lines are not complete (${listed(gaps)}); hydrated semantically`)
  }
  const entries = lineage === undefined ? thread.entries : RawTurns.substitute(thread, lineage)
  const hydrated = SemanticHydration.hydrate(
    { ...thread, entries },
    {
      cwd,
      tools: options.tools ?? "pairs",
      ...(lineage === undefined ? {} : { sessionId: lineage.sessionId })
    }
  )
  if (hydrated === undefined) {
    const damage = thread.diagnostics[0]
    return yield* new NothingToHydrate({
      ref,
      entries: thread.entries.length,
      ...(damage === undefined ? {} : { firstDamage: formatDiagnostic(ref, damage) })
    })
  }
  const { unansweredCalls, orphanResults, interruptedAnswers } = hydrated.summary
  if (interruptedAnswers > 0) warnings.push(`answers cut off in the middle, kept as text: ${interruptedAnswers}`)
  const left = options.tools === "omit" ? "left out" : "written as text"
  if (unansweredCalls > 0) warnings.push(`tool calls without a result, written as text: ${unansweredCalls}`)
  if (orphanResults > 0) warnings.push(`tool results without a call, ${left}: ${orphanResults}`)
  return { session: hydrated.session, mode: "semantic", summary: hydrated.summary, behind: [], warnings }
})
