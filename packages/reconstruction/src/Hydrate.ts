/** Rebuilds a session file from a thread, so that Pi continues it: the service of `pi-sessions hydrate`. */
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

/** The thread has no turns. */
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

/** Lossless mode, and the thread's raw lines are incomplete or known to be behind the file. */
export class LineageIncomplete extends Schema.TaggedError<LineageIncomplete>()("LineageIncomplete", {
  ref: Schema.String,
  gaps: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `thread ${this.ref}: cannot hydrate without loss: ${listed(this.gaps)}. Start Pi with pi-mirror where the session file is, which sends what is missing, or use --mode auto to hydrate what there is`
  }
}

/** The thread has no raw lines of the requested session. */
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

/** Pi does not continue a session in a missing directory. */
export class CwdMissing extends Schema.TaggedError<CwdMissing>()("CwdMissing", { cwd: Schema.String }) {
  override get message(): string {
    return `${this.cwd}: no such directory, and Pi will not continue a session in a directory that is not there. Make it, or pass another --cwd`
  }
}

export const MODES = ["auto", "lossless", "semantic"] as const

export interface HydrateOptions {
  /** `auto`: lossless when the raw lines are complete, else semantic. Default: `auto`. */
  readonly mode?: (typeof MODES)[number]
  /** How semantic hydration writes calls with a result. Default: `pairs`. */
  readonly tools?: SemanticHydration.ToolMode
  /** Default: the session of the thread's newest raw line. */
  readonly sessionId?: string
  /** Keeps the header's cwd (lossless only). */
  readonly keepCwd?: boolean
  /** Moves a different target aside instead of failing. */
  readonly force?: boolean
}

export interface Hydration extends Written {
  readonly mode: "lossless" | "semantic"
  readonly threadId: string
  readonly sessionId: string
  readonly cwd: string
  /** Number of entries without the header. */
  readonly entries: number
  /** Present after semantic hydration. */
  readonly summary?: SemanticHydration.Summary
  /** Number of unused thread entries by type: chunks, request contexts, unknown types. */
  readonly passedOver: { readonly [type: string]: number }
  /** Signs that the file has lines which the thread lacks; empty after semantic hydration. */
  readonly behind: ReadonlyArray<MirrorLag.Lag>
  /** Losses and damage, one sentence each. */
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
    /** Writes `targetPath` so that `pi --session targetPath` continues in `sandboxCwd`. */
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

      /** The path without links, because Pi compares it with its own working directory. */
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

/** Makes the session in memory, by the mode that the options and the thread allow. */
const build = Effect.fnUntraced(function* (
  ref: string,
  thread: Thread,
  cwd: string,
  options: HydrateOptions
): Effect.fn.Return<Built, NothingToHydrate | LineageIncomplete | SessionNotInThread> {
  const lineage = LosslessHydration.choose(thread, options.sessionId)
  if (options.sessionId !== undefined && lineage === undefined) {
    const found = [...LosslessHydration.sessionIds(thread)]
    return yield* new SessionNotInThread({ ref, sessionId: options.sessionId, found })
  }
  if (options.mode === "semantic") return yield* buildSemantic(ref, thread, lineage, cwd, options)
  const gaps = lineage === undefined ? ["it holds no raw lines"] : LosslessHydration.gaps(lineage)
  if (lineage !== undefined && gaps.length === 0) return yield* buildLossless(ref, thread, lineage, cwd, options)
  if (options.mode === "lossless") return yield* new LineageIncomplete({ ref, gaps })
  const built = yield* buildSemantic(ref, thread, lineage, cwd, options)
  if (lineage === undefined) return built
  return {
    ...built,
    warnings: [`the raw lines are not complete (${listed(gaps)}); hydrated semantically`, ...built.warnings]
  }
})

const buildLossless = Effect.fnUntraced(function* (
  ref: string,
  thread: Thread,
  lineage: LosslessHydration.Lineage,
  cwd: string,
  options: HydrateOptions
): Effect.fn.Return<Built, LineageIncomplete> {
  const behind = MirrorLag.find(thread, lineage)
  const certain = behind.filter(({ certain }) => certain).map(({ reason }) => reason)
  if (options.mode === "lossless" && certain.length > 0) return yield* new LineageIncomplete({ ref, gaps: certain })
  const session = LosslessHydration.assemble(lineage, options.keepCwd === true ? undefined : cwd)
  const warnings = [
    ...behind.map(
      ({ certain, reason }) => `the thread ${certain ? "is" : "may be"} behind the session file: ${reason}`
    ),
    ...session.diagnostics.map((diagnostic) => `in the session: ${SessionDiagnostic.format(diagnostic)}`)
  ]
  return { session, mode: "lossless", behind, warnings }
})

const buildSemantic = Effect.fnUntraced(function* (
  ref: string,
  thread: Thread,
  lineage: LosslessHydration.Lineage | undefined,
  cwd: string,
  { tools = "pairs" }: HydrateOptions
): Effect.fn.Return<Built, NothingToHydrate> {
  const entries = lineage === undefined ? thread.entries : RawTurns.substitute(thread, lineage)
  const session = lineage === undefined ? {} : { sessionId: lineage.sessionId }
  const hydrated = SemanticHydration.hydrate({ ...thread, entries }, { cwd, tools, ...session })
  if (hydrated === undefined) {
    const damage = thread.diagnostics[0]
    return yield* new NothingToHydrate({
      ref,
      entries: thread.entries.length,
      ...(damage === undefined ? {} : { firstDamage: formatDiagnostic(ref, damage) })
    })
  }
  return { ...hydrated, mode: "semantic", behind: [], warnings: losses(hydrated.summary, tools) }
})

const losses = (summary: SemanticHydration.Summary, tools: SemanticHydration.ToolMode): ReadonlyArray<string> => {
  const { unansweredCalls, orphanResults, interruptedAnswers } = summary
  const orphans = tools === "omit" ? "left out" : "written as text"
  return [
    ...(interruptedAnswers > 0 ? [`interrupted answers, kept as text: ${interruptedAnswers}`] : []),
    ...(unansweredCalls > 0 ? [`tool calls without a result, written as text: ${unansweredCalls}`] : []),
    ...(orphanResults > 0 ? [`tool results without a call, ${orphans}: ${orphanResults}`] : [])
  ]
}
