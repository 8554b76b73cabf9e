/**
 * From a session to its samples: a run of targets each (TargetRuns.ts), told in turns by the rules of SessionTurns.ts.
 *
 * A sample begins with what the model was sent for its first target and ends on its last one, so the calls of that last
 * answer have no results in it: they came after it. Where turns cannot say what was sent (an image, a result without its
 * call), or damage may have taken a part of it, the sample says that its context is `reduced`.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import type * as Session from "@pi-sessions/core/Session"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type DropCounts, DropTally, sum } from "./DropCounts.ts"
import * as TargetRuns from "./TargetRuns.ts"
import * as ToolSchemas from "./ToolSchemas.ts"
import { type ToldContexts } from "./ToldContexts.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import {
  isConversation,
  isHydrated,
  ownIds,
  roleMetadata,
  settings,
  systemTurn,
  thinkingLevels
} from "./internal/sessionFacts.ts"
import { TurnWriter, named, text } from "./internal/turnWriter.ts"

export interface CutOptions {
  /** Where the session was read. */
  readonly sourcePath: string
  /** Whose session it is; see SessionRole.ts of the catalog. */
  readonly role: GasTown.RoleDetection
  /** The active branch, or all of them. */
  readonly branches?: "active" | "all"
  /** The Pi that asked; told by each branch unless given. */
  readonly profile?: PiProfile
  /** What the mirror told of sessions. */
  readonly told?: ToldContexts
}

export interface Cut {
  readonly samples: ReadonlyArray<TrainingSample>
  /** Parts of the session that are in none of them. What a sample lost on its way is in its own metadata. */
  readonly dropped: DropCounts
}

/** What was sent and is not in the turns, or not as it was. */
const REDUCING = new Set([
  "orphan_tool_result",
  "duplicate_tool_result",
  "image",
  "unknown_block",
  "redacted_thinking",
  "invalid_arguments"
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
  const { branches = "active", profile } = options
  const told = options.told?.get(text(source.header?.decode() ?? {}, "id"))
  const runs = TargetRuns.runs(session.tree, {
    branches,
    ...(profile === undefined ? {} : { profile }),
    ...(told === undefined ? {} : { told })
  })
  const sample = sampler(session, versionOf(source.header?.decode() ?? {}), options)
  return { samples: runs.map(sample), dropped: leftOut(session, runs, branches) }
}

const sampler = (session: Session.Session, version: number, { role, sourcePath }: CutOptions) => {
  const header = session.header?.decode() ?? {}
  const facts = {
    ...roleMetadata(role),
    timestamp: text(header, "timestamp"),
    ...named("session_name", session.tree.name()),
    ...named("parent_session", stringAt(header, "parentSession")),
    version,
    hydrated: isHydrated(header, session)
  }
  const active = new Set(session.tree.getBranch().map(({ id }) => id))
  const isDamaged = session.diagnostics.some(({ code }) => !HARMLESS.has(code))
  return (run: TargetRuns.TargetRun, at: number): TrainingSample => {
    const dropped = new DropTally()
    const items = run.messages.flatMap(({ of }) => of ?? [])
    const writer = new TurnWriter(ownIds(items), thinkingLevels(run.branch, header), dropped)
    let firstTarget = 0
    for (const [i, { message, of }] of run.messages.entries()) {
      // What Pi made up, the writer makes up in the same place.
      if (of !== undefined) writer.push(of.entry, of.message, message)
      if (i === run.firstTarget) firstTarget = writer.turns.length - 1
    }
    const systemMessages = run.systemMessages.map(({ message }) => message)
    const own = ModelContext.systemPrompt(systemMessages).toWellFormed()
    const prompt = own === "" ? (run.told?.systemPrompt.toWellFormed() ?? "") : own
    const hasPrompt = prompt !== ""
    const turns = hasPrompt ? [systemTurn(prompt, run.systemMessages[0]?.of?.entry), ...writer.turns] : writer.turns
    const declared = ModelContext.tools(systemMessages)
    const isTold = declared.length === 0 && run.told !== undefined
    const resolved = ToolSchemas.resolve(isTold ? run.told.tools : declared, turns)
    const tools_source = isTold && resolved.source === "session" ? "thread" : resolved.source
    const first_target = firstTarget + (hasPrompt ? 1 : 0)
    const answers = turns.filter((turn) => turn.role === "assistant").length
    const targets = turns.filter((turn, i) => turn.role === "assistant" && i >= first_target).length
    return {
      session_id: text(header, "id"),
      source_path: sourcePath.toWellFormed(),
      cwd: text(header, "cwd"),
      turns,
      first_target,
      tools: resolved.tools,
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
        active: active.has(run.branch.at(-1)?.id ?? ""),
        context: isDamaged || Object.keys(dropped.counts).some((reason) => REDUCING.has(reason)) ? "reduced" : "exact",
        targets,
        context_answers: answers - targets,
        pi: run.profile,
        system_source: own !== "" ? "session" : hasPrompt ? "thread" : "none"
      }
    }
  }
}

/** Messages that are in no sample, by reason. */
const leftOut = (
  session: Session.Session,
  runs: ReadonlyArray<TargetRuns.TargetRun>,
  branches: "active" | "all"
): DropCounts => {
  const dropped = new DropTally()
  const held = new Set(runs.flatMap((run) => run.messages.flatMap(({ of }) => of?.entry ?? [])))
  for (const run of runs) for (const { of } of run.systemMessages) if (of !== undefined) held.add(of.entry)
  const active = branches === "all" ? undefined : new Set(session.tree.getBranch())
  const edited = new Set<string>()
  for (const entry of session.tree.getEntries()) {
    if (entry.type === "context_edit") edited.add(text(entry.decode(), "targetId"))
  }
  for (const entry of session.tree.getEntries()) {
    if (!isConversation(entry) || held.has(entry)) continue
    if (active !== undefined && !active.has(entry)) dropped.add("other_branch_message")
    else dropped.add(reasonOf(entry, edited.has(entry.id ?? "")))
  }
  return sum([dropped.counts])
}

const reasonOf = (entry: SessionEntry, isEdited: boolean) => {
  if (entry.role === "assistant") {
    const message = entry.decode()["message"]
    const stopReason = typeof message === "object" && message !== null && "stopReason" in message && message.stopReason
    if (stopReason === "error") return "error_turn"
    if (stopReason === "aborted") return "aborted_turn"
  }
  if (isEdited) return "edited_out_message"
  if (entry.type === "message" && entry.role === undefined) return "unknown_message"
  return "trailing_message"
}
