/**
 * From a session to its samples: a run of targets each (TargetRuns.ts), told in turns by the rules of SessionTurns.ts.
 *
 * A sample begins with what the model was sent for its first target and ends on its last one, so the calls of that last
 * answer have no results in it: they came after it. Where turns cannot say what was sent (an image, a result without its
 * call), damage may have taken a part of it, or the tools on offer are not known, the sample says that its context is
 * `reduced`. docs/samples.md defines `exact`.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import * as ClaudeCodeSession from "@pi-sessions/core/ClaudeCodeSession"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { type PiProfile, newest } from "@pi-sessions/core/PiProfile"
import type * as Session from "@pi-sessions/core/Session"
import { versionOf } from "@pi-sessions/core/SessionHeader"
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
import { type ToldContext, type ToldContexts } from "./ToldContexts.ts"
import { type ToolDefinition, type ToolsSource } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { branchQuality } from "./internal/branchQuality.ts"
import { isGenuine, isHydrated, ownIds, roleMetadata, settings, systemTurn, thinkingLevels } from "./SessionFacts.ts"
import { type SessionImages } from "./SessionImages.ts"
import { TurnWriter, named, text } from "./TurnWriter.ts"

export interface CutOptions {
  /** Where the session was read. */
  readonly sourcePath: string
  /** Whose session it is; see SessionRole.ts of the catalog. */
  readonly role: GasTown.RoleDetection
  /** The active branch, or all of them. */
  readonly branches?: "active" | "all"
  /** The Pi that asked; told by each branch unless given. */
  readonly profile?: PiProfile
  /** Whether answers that hydration wrote are targets too. */
  readonly includeHydrated?: boolean
  /** What a person marked: answers that are rejected are no targets. */
  readonly marks?: Marks.MarksRule
  /** What the mirror recorded of sessions. */
  readonly told?: ToldContexts
  /** Tools that a person gives, for requests of which neither the session nor a thread says which were offered. */
  readonly tools?: ReadonlyArray<ToolDefinition>
  /** The share of errors above which `error_rate` holds; see SessionQuality.ts. */
  readonly maxErrorRate?: number | undefined
  /** Where the session is an outline: the texts that are set aside in it, and so in the samples. */
  readonly texts?: LongTexts
  /** Where images are asked for: takes those that samples show. The session must be no outline. */
  readonly images?: SessionImages
  /** Of the session; what exceeds it throws `OverBudget`. */
  readonly budget?: SessionBudget
}

export interface Cut {
  readonly samples: ReadonlyArray<TrainingSample>
  /** Parts of the session that are in none of them. What a sample lost on its way is in its own metadata. */
  readonly dropped: DropCounts
  /** In the current version. */
  readonly session: Session.Session
  /** Of its entries: what each sample was told from. */
  readonly runs: ReadonlyArray<TargetRuns.TargetRun>
}

/** The program that held a conversation whose header names none. */
const PI = "pi"

/** What Pi handed to its provider layer and is not in the turns, or not as it was. */
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

/** Damage that takes nothing from what the lines say. */
const HARMLESS = new Set<SessionDiagnostic["code"]>([
  "bom",
  "crlf",
  "missing-final-newline",
  "duplicate-header",
  "header-not-first"
])

/** The samples of a session of any version of the format; the session itself is not changed. */
export const cut = (source: Session.Session, options: CutOptions): Cut => {
  const session = SessionMigration.toCurrent(source)
  const header = source.header?.decode() ?? {}
  const isClaudeCode = header["harness"] === ClaudeCodeSession.HARNESS
  // It took out of its context what only 1.5 can take out, and thinking of another model is not sent as text.
  const { branches = "active", profile = isClaudeCode ? newest : undefined } = options
  const told = options.told?.get(text(header, "id"))
  const runs = TargetRuns.runs(session.tree, {
    branches,
    ...(profile === undefined ? {} : { profile }),
    ...(told === undefined ? {} : { told }),
    isTarget: isTarget(header, session, options),
    ...(options.budget === undefined ? {} : { budget: options.budget })
  })
  const quality = branchQuality(session.tree, runs, options)
  const sample = sampler(session, versionOf(header), options, quality)
  const leftOut = new DropTally()
  for (const reason of EntryFates.leftOut(session, runs, branches).values()) leftOut.add(reason)
  return { samples: runs.map(sample), dropped: leftOut.counts, session, runs }
}

/** Whether a model gave an answer, and nobody rejects it. */
const isTarget = (header: JsonObject, session: Session.Session, { includeHydrated, marks }: CutOptions) => {
  const isOwn = includeHydrated === true ? () => true : isGenuine(header, session)
  const sessionId = text(header, "id")
  return marks === undefined
    ? isOwn
    : (entry: SessionEntry) => isOwn(entry) && Marks.isTarget(marks, sessionId, entry.id)
}

const sampler = (
  session: Session.Session,
  version: number,
  { budget, images, role, sourcePath, tools: given }: CutOptions,
  quality: ReturnType<typeof branchQuality>
) => {
  const header = session.header?.decode() ?? {}
  const harness = stringAt(header, "harness")?.toWellFormed() ?? PI
  const facts = {
    ...roleMetadata(role),
    timestamp: text(header, "timestamp"),
    ...named("session_name", session.tree.name()),
    ...named("parent_session", stringAt(header, "parentSession")),
    version,
    hydrated: isHydrated(header, session)
  }
  const active = new Set<SessionEntry | undefined>(session.tree.getBranch())
  const isDamaged = session.diagnostics.some(({ code }) => !HARMLESS.has(code))
  // What another program sends is known by its own rules, not by Pi's.
  const isReduced = isDamaged || harness !== PI
  return (run: TargetRuns.TargetRun, at: number): TrainingSample => {
    const { length } = run.messages
    budget?.charge("turns", (run.branch.length + length) * ENTRY_STEPS, length * ENTRY_BYTES)
    const dropped = new DropTally()
    const items = run.messages.flatMap(({ of }) => of ?? [])
    const writer = new TurnWriter(ownIds(items), thinkingLevels(run.branch, header), dropped, { images, budget })
    let firstTarget = 0
    for (const [i, { message, of }] of run.messages.entries()) {
      // What Pi made up, the writer makes up in the same place.
      if (of !== undefined) writer.push(of.entry, of.message, message)
      if (i === run.firstTarget) firstTarget = writer.turns.length - 1
    }
    const systemMessages = run.systemMessages.map(({ message }) => message)
    const own = WellFormed.text(ModelContext.systemPrompt(systemMessages))
    const prompt = own === "" ? WellFormed.text(run.told?.systemPrompt ?? "") : own
    const hasPrompt = prompt !== ""
    const turns = hasPrompt ? [systemTurn(prompt, run.systemMessages[0]?.of?.entry), ...writer.turns] : writer.turns
    const { source: tools_source, tools } = toolsOf(systemMessages, run.told, given, turns)
    const first_target = firstTarget + (hasPrompt ? 1 : 0)
    const answers = turns.filter((turn) => turn.role === "assistant").length
    const targets = turns.filter((turn, i) => turn.role === "assistant" && i >= first_target).length
    return {
      session_id: text(header, "id"),
      source_path: sourcePath.toWellFormed(),
      cwd: text(header, "cwd"),
      turns,
      first_target,
      tools,
      metadata: {
        ...facts,
        ...settings(run.branch, header),
        leaf_id: run.branch.at(-1)?.id?.toWellFormed() ?? null,
        entries: {
          file: session.tree.getEntries().length,
          branch: run.branch.length,
          context: new Set(items.map((item) => item.entry)).size
        },
        tools_source,
        tool_errors: turns.flatMap((turn) => turn.tool_results).filter((result) => result.is_error).length,
        dropped: dropped.counts,
        sample: at,
        start: run.start,
        active: active.has(run.branch.at(-1)),
        context:
          isReduced || tools_source === "used" || Object.keys(dropped.counts).some((reason) => REDUCING.has(reason))
            ? "reduced"
            : "exact",
        targets,
        context_answers: answers - targets,
        pi: run.profile,
        system_source: own !== "" ? "session" : hasPrompt ? "thread" : "none",
        harness,
        quality: quality(run)
      }
    }
  }
}

/** The tools that were offered, by the first source that knows them; else those that were called. */
const toolsOf = (
  systemMessages: ReadonlyArray<JsonObject>,
  told: ToldContext | undefined,
  given: ReadonlyArray<ToolDefinition> | undefined,
  turns: ReadonlyArray<Turn>
): { readonly tools: ReadonlyArray<ToolDefinition>; readonly source: ToolsSource } => {
  const declared = ToolSchemas.declaredIn(systemMessages, turns)
  if (declared !== undefined) return { tools: declared, source: "declared" }
  if (told !== undefined) return { tools: ToolSchemas.declared(told.tools), source: "thread" }
  return given === undefined
    ? { tools: ToolSchemas.used(turns), source: "used" }
    : { tools: ToolSchemas.declared(given), source: "given" }
}
