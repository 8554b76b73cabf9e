/**
 * Cuts a session into samples: one for each run of targets (TargetRuns.ts), as turns by the rules of SessionTurns.ts.
 *
 * A sample begins with the request for its first target and ends with its last target, without results of that answer's
 * calls, because they came later. The context is `reduced` if turns cannot contain all of the request (an image, a result
 * without its call), if damage may have removed a part, or if the tools of the request are unknown. docs/samples.md
 * defines `exact`.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import * as ClaudeCodeSession from "@pi-sessions/core/ClaudeCodeSession"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { type PiProfile, newest } from "@pi-sessions/core/PiProfile"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type DropCounts, DropTally } from "./DropCounts.ts"
import * as EntryFates from "./EntryFates.ts"
import * as Marks from "./Marks.ts"
import { ENTRY_BYTES, ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import * as TargetRuns from "./TargetRuns.ts"
import * as ToolSchemas from "./ToolSchemas.ts"
import { type RequestContexts } from "./RequestContexts.ts"
import { type ToolDefinition, type ToolsSource } from "./ToolDefinition.ts"
import { type SystemSource, type TrainingSample, answerCounts } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { branchQuality } from "./internal/branchQuality.ts"
import { branchMetadata, isGenuine, ownIds, sessionMetadata, systemTurn, thinkingLevels } from "./SessionFacts.ts"
import { type SessionImages } from "./SessionImages.ts"
import { TurnWriter, text } from "./TurnWriter.ts"

export interface CutOptions {
  /** The path of the session file. */
  readonly sourcePath: string
  /** The role of the session; see SessionRole.ts of the catalog. */
  readonly role: GasTown.RoleDetection
  /** Default: "active". */
  readonly branches?: "active" | "all"
  /** The Pi version that made the requests. Default: detected on each branch. */
  readonly profile?: PiProfile
  /** Whether answers that hydration wrote are targets too. Default: false. */
  readonly includeHydrated?: boolean
  /** The user's marks; rejected answers are not targets. Default: none. */
  readonly marks?: Marks.MarksRule
  /** What the mirror recorded of requests. Default: nothing. */
  readonly requestContexts?: RequestContexts
  /** Tools for requests whose tools neither the session nor a thread contains. Default: the tools that are called. */
  readonly tools?: ReadonlyArray<ToolDefinition>
  /** The share of errors above which `error_rate` holds. Default: see SessionQuality.ts. */
  readonly maxErrorRate?: number | undefined
  /** The long texts of the session, if it is an outline. The samples then contain their markers too. */
  readonly texts?: LongTexts
  /** Collects the images of samples, for image files. Requires a session that is not an outline. Default: no images. */
  readonly images?: SessionImages
  /** The budget of the session; exceeding it throws `OverBudget`. Default: no limit. */
  readonly budget?: SessionBudget
}

export interface Cut {
  /** The samples of the active branch first. */
  readonly samples: ReadonlyArray<TrainingSample>
  /** Messages that are in no sample. */
  readonly dropped: DropCounts
  /** The session in the current version. */
  readonly session: Session.Session
  /** The run of each sample. Its entries are those of `session`. */
  readonly runs: ReadonlyArray<TargetRuns.TargetRun>
}

/** The harness of sessions whose header names none. */
const PI = "pi"

/** Drops that make the turns differ from what Pi passed to its provider layer. */
const REDUCING = new Set([
  "orphan_tool_result",
  "duplicate_tool_result",
  "image",
  "escaped_mark",
  "unknown_block",
  "redacted_thinking",
  "invalid_arguments",
  "lone_surrogate",
  "empty_user_turn",
  "empty_assistant_turn"
])

/** Damage that loses no content. */
const HARMLESS = new Set<SessionDiagnostic["code"]>([
  "bom",
  "crlf",
  "missing-final-newline",
  "duplicate-header",
  "header-not-first"
])

/** Cuts a session of any version of the format and does not change it. */
export const cut = (source: Session.Session, options: CutOptions): Cut => {
  const session = SessionMigration.toCurrent(source)
  const header = source.header?.decode() ?? {}
  const isClaudeCode = header["harness"] === ClaudeCodeSession.HARNESS
  // Claude Code removes entries from its context as only 1.5 can, and sends no thinking of other models as text.
  const { branches = "active", budget, profile = isClaudeCode ? newest : undefined } = options
  const requestContexts = options.requestContexts?.get(text(header, "id"))
  const runs = TargetRuns.runs(session.tree, {
    branches,
    ...(profile === undefined ? {} : { profile }),
    ...(requestContexts === undefined ? {} : { requestContexts }),
    isTarget: isTarget(header, session, options),
    ...(budget === undefined ? {} : { budget })
  })
  const leftOut = new DropTally()
  for (const reason of EntryFates.leftOut(session, runs, branches).values()) leftOut.add(reason)
  return { samples: runs.map(sampler(source, session, runs, options)), dropped: leftOut.counts, session, runs }
}

/** Tests whether an answer is from a model and not rejected by the user. */
const isTarget = (header: JsonObject, session: Session.Session, { includeHydrated, marks }: CutOptions) => {
  const isOwn = includeHydrated === true ? () => true : isGenuine(header, session)
  const sessionId = text(header, "id")
  return marks === undefined
    ? isOwn
    : (entry: SessionEntry) => isOwn(entry) && Marks.isTarget(marks, sessionId, entry.id)
}

/** Returns what turns a run of the session and its index into a sample. */
const sampler = (
  source: Session.Session,
  session: Session.Session,
  runs: ReadonlyArray<TargetRuns.TargetRun>,
  options: CutOptions
): ((run: TargetRuns.TargetRun, at: number) => TrainingSample) => {
  const header = session.header?.decode() ?? {}
  const harness = stringAt(header, "harness")?.toWellFormed() ?? PI
  const shared = sessionMetadata(source, session, header, options.role)
  const quality = branchQuality(session.tree, runs, options)
  const active = new Set<SessionEntry | undefined>(session.tree.getBranch())
  const isDamaged = session.diagnostics.some(({ code }) => !HARMLESS.has(code))
  // The requests of other programs follow their own rules, so they are never exact.
  const isReduced = isDamaged || harness !== PI
  return (run, at) => {
    const written = write(run, header, options)
    const { items } = written
    const prompt = promptOf(run)
    const turns = prompt.turn === undefined ? written.turns : [prompt.turn, ...written.turns]
    const { source: tools_source, tools } = toolsOf(run, options.tools, turns)
    const dropped = written.dropped.counts
    const isExact = !isReduced && tools_source !== "used" && !Object.keys(dropped).some((it) => REDUCING.has(it))
    const first_target = written.firstTarget + (prompt.turn === undefined ? 0 : 1)
    return {
      session_id: text(header, "id"),
      source_path: options.sourcePath.toWellFormed(),
      cwd: text(header, "cwd"),
      turns,
      first_target,
      tools,
      metadata: {
        ...shared,
        ...branchMetadata(session, header, { branch: run.branch, items }, turns),
        tools_source,
        dropped,
        sample: at,
        start: run.start,
        active: active.has(run.branch.at(-1)),
        context: isExact ? "exact" : "reduced",
        ...answerCounts(turns, first_target),
        pi: run.profile,
        system_source: prompt.source,
        harness,
        quality: quality(run)
      }
    }
  }
}

/** Writes the messages of a run as turns. `firstTarget` is an index of `turns`. */
const write = (run: TargetRuns.TargetRun, header: JsonObject, { budget, images }: CutOptions) => {
  const { length } = run.messages
  budget?.charge("turns", (run.branch.length + length) * ENTRY_STEPS, length * ENTRY_BYTES)
  const items = run.messages.flatMap(({ of }) => of ?? [])
  const dropped = new DropTally()
  const writer = new TurnWriter(ownIds(items), thinkingLevels(run.branch, header), dropped, { images, budget })
  let firstTarget = 0
  for (const [at, { message, of }] of run.messages.entries()) {
    // Messages without an entry are results that Pi adds; the writer adds them itself.
    if (of !== undefined) writer.push(of.entry, of.message, message)
    if (at === run.firstTarget) firstTarget = writer.turns.length - 1
  }
  return { turns: writer.turns, firstTarget, items, dropped }
}

/** The system prompt of a run, from the session or else from a thread. */
const promptOf = ({
  recorded,
  systemMessages
}: TargetRuns.TargetRun): { readonly turn: Turn | undefined; readonly source: SystemSource } => {
  const own = WellFormed.text(ModelContext.systemPrompt(systemMessages.map(({ message }) => message)))
  const prompt = own === "" ? WellFormed.text(recorded?.systemPrompt ?? "") : own
  if (prompt === "") return { turn: undefined, source: "none" }
  return { turn: systemTurn(prompt, systemMessages[0]?.of?.entry), source: own === "" ? "thread" : "session" }
}

/** The tools of a run from the first source that has them, else the tools that are called. */
const toolsOf = (
  { recorded, systemMessages }: TargetRuns.TargetRun,
  given: ReadonlyArray<ToolDefinition> | undefined,
  turns: ReadonlyArray<Turn>
): { readonly tools: ReadonlyArray<ToolDefinition>; readonly source: ToolsSource } => {
  const declared = ToolSchemas.declaredIn(
    systemMessages.map(({ message }) => message),
    turns
  )
  if (declared !== undefined) return { tools: declared, source: "declared" }
  if (recorded !== undefined) return { tools: ToolSchemas.declared(recorded.tools), source: "thread" }
  return given === undefined
    ? { tools: ToolSchemas.used(turns), source: "used" }
    : { tools: ToolSchemas.declared(given), source: "given" }
}
