/**
 * From a session to its turns: what the model would be sent at the leaf of the active branch, told as it was recorded.
 *
 * The context is Pi's (`SessionContext.project`, `convertToLlm`), so compactions, branch summaries, custom messages,
 * `!commands` and context edits mean what they mean to Pi. On it these rules work, Pi's own wherever Pi has one:
 *
 * - Turns that ended in an error or were aborted are left out, and their results with them (Pi sends those, and the
 *   provider refuses). So are results whose call is not in the context.
 * - Consecutive results are one user turn right after the call. A call that was not answered when the conversation went
 *   on has the result Pi makes up, "No result provided". At the end nothing is made up: no request followed.
 * - Calls without an id of their own in their turn (empty, seed 004, or given twice) are called `call_<n>`, n counting
 *   up from 1 past ids that the session has; results find their call by its recorded id, and for empty ids by tool name,
 *   in order.
 * - Text blocks are joined as Pi joins them: nothing between those of an assistant, a newline between others. Images are
 *   `[image]`. Thinking stands in the metadata, signatures nowhere.
 * - Where a compaction kept nothing that the model said and it said nothing since (sessions often end so), the context
 *   is the one before that compaction: else a long conversation would leave only its summary.
 * - All system messages (1.5) are one system turn at the start, with the sections and tools in force at the end.
 *
 * What is left out is counted, see DropCounts.ts.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { type PiProfile, newest } from "@pi-sessions/core/PiProfile"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { DropTally } from "./DropCounts.ts"
import { type ExtractedSession } from "./ExtractedSession.ts"
import * as ToolSchemas from "./ToolSchemas.ts"
import {
  isConversation,
  isHydrated,
  ownIds,
  roleMetadata,
  settings,
  systemTurn,
  thinkingLevels
} from "./SessionFacts.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { TurnWriter, named, text } from "./TurnWriter.ts"

export interface ExtractOptions {
  /** Where the session was read. */
  readonly sourcePath: string
  /** Whose session it is; see SessionRole.ts of the catalog. */
  readonly role: GasTown.RoleDetection
  /** The Pi whose context is meant. */
  readonly profile?: PiProfile
}

/** The turns of the active branch. Takes any version of the format; the session itself is not changed. */
export const extract = (source: Session.Session, options: ExtractOptions): ExtractedSession => {
  const { profile = newest } = options
  const session = SessionMigration.toCurrent(source)
  const header = session.header?.decode() ?? {}
  const whole = session.tree.getBranch()
  const { branch, items } = answeredContext(whole, profile)

  const dropped = new DropTally()
  countLeftOut(session, whole, branch, items, profile, dropped)
  const writer = new TurnWriter(ownIds(items), thinkingLevels(branch, header), dropped)
  const systemMessages: Array<JsonObject> = []
  let systemEntry: SessionEntry | undefined
  for (const { entry, message } of items) {
    const [sent] = ModelContext.convertToLlm([message], profile)
    if (sent === undefined) {
      dropped.add(message["role"] === "bashExecution" ? "excluded_bash_execution" : "unknown_message")
    } else if (sent["role"] === "system") {
      systemMessages.push(sent)
      systemEntry ??= entry
    } else writer.push(entry, message, sent)
  }
  writer.end()

  const prompt = WellFormed.text(ModelContext.systemPrompt(systemMessages))
  const turns = prompt === "" ? writer.turns : [systemTurn(prompt, systemEntry), ...writer.turns]
  const declared = ToolSchemas.declaredIn(systemMessages, turns)
  return {
    session_id: text(header, "id"),
    source_path: options.sourcePath.toWellFormed(),
    cwd: text(header, "cwd"),
    turns,
    tools: declared ?? ToolSchemas.used(turns),
    metadata: {
      ...roleMetadata(options.role),
      ...settings(branch, header),
      timestamp: text(header, "timestamp"),
      ...named("session_name", session.tree.name()),
      ...named("parent_session", stringAt(header, "parentSession")),
      version: versionOf(source.header?.decode() ?? {}),
      leaf_id: branch.at(-1)?.id?.toWellFormed() ?? null,
      entries: {
        file: session.tree.getEntries().length,
        branch: branch.length,
        context: new Set(items.map((item) => item.entry)).size
      },
      hydrated: isHydrated(header, session),
      tools_source: declared === undefined ? "used" : "declared",
      tool_errors: turns.flatMap((turn) => turn.tool_results).filter((result) => result.is_error).length,
      dropped: dropped.counts
    }
  }
}

interface Context {
  /** From the root. */
  readonly branch: ReadonlyArray<SessionEntry>
  readonly items: ReadonlyArray<SessionContext.ContextItem>
}

const isAnswer = ({ message }: SessionContext.ContextItem): boolean =>
  message["role"] === "assistant" && message["stopReason"] !== "error" && message["stopReason"] !== "aborted"

/** The context at the end of a branch, or at the newest compaction before which the model has said something in it. */
const answeredContext = (whole: ReadonlyArray<SessionEntry>, profile: PiProfile): Context => {
  let branch = whole
  for (;;) {
    const items = SessionContext.project(branch, profile)
    if (items.some(isAnswer)) return { branch, items }
    const compaction = branch.findLastIndex((entry) => entry.type === "compaction")
    if (compaction < 0) return { branch: whole, items: SessionContext.project(whole, profile) }
    branch = branch.slice(0, compaction)
  }
}

const countLeftOut = (
  session: Session.Session,
  whole: ReadonlyArray<SessionEntry>,
  branch: ReadonlyArray<SessionEntry>,
  items: ReadonlyArray<SessionContext.ContextItem>,
  profile: PiProfile,
  dropped: DropTally
): void => {
  const cut = whole.slice(branch.length)
  const afterBranch = new Set(cut)
  const onBranch = new Set(branch)
  const selected = new Set(SessionContext.select(branch, profile))
  const projected = new Set(items.map((item) => item.entry))
  dropped.add("unanswered_compaction", cut.filter((entry) => entry.type === "compaction").length)
  for (const entry of session.tree.getEntries()) {
    if (!isConversation(entry) || projected.has(entry)) continue
    if (afterBranch.has(entry)) dropped.add("trailing_message")
    else if (!onBranch.has(entry)) dropped.add("other_branch_message")
    else if (!selected.has(entry)) dropped.add("compacted_message")
    else if (entry.type === "message" && entry.role === undefined) dropped.add("unknown_message")
    // A branch summary that says nothing gives no message.
    else if (entry.type !== "branch_summary") dropped.add("edited_out_message")
  }
}
