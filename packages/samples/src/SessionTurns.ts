/**
 * Turns a session into turns: the context that the model would receive at the leaf of the active branch, as recorded.
 *
 * The context is Pi's (`SessionContext.project`, `convertToLlm`), with its compactions, branch summaries, custom messages,
 * `!commands` and context edits. These rules apply to it; most are Pi's own:
 *
 * - Answers that failed or were aborted are dropped together with their results. Pi sends such results, and providers
 *   reject them. Results without a call in the context are dropped too.
 * - Consecutive results are one user turn, right after the call. A call without a result gets Pi's "No result provided"
 *   if the conversation continued. At the end nothing is added, because no request followed.
 * - Calls without a unique id in their turn (an empty or repeated id) get `call_<n>`, with n from 1 and no id of the
 *   session. Results find their call by the recorded id. For empty ids they find it by tool name, in order.
 * - Text blocks are joined as in Pi: without separator in answers, with a newline elsewhere. Images become `[image]`.
 *   Thinking goes to the metadata; signatures are dropped.
 * - If the context has no answer because of compactions (sessions often end with one), the context before them is used.
 *   Otherwise only the summary of a long conversation would be left.
 * - All system messages (1.5) become one system turn at the start, with the sections and tools in force at the end.
 *
 * DropCounts.ts lists what is dropped; the metadata counts it.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { type PiProfile, newest } from "@pi-sessions/core/PiProfile"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { DropTally } from "./DropCounts.ts"
import { type ExtractedSession } from "./ExtractedSession.ts"
import * as ToolSchemas from "./ToolSchemas.ts"
import {
  type BranchContext,
  branchMetadata,
  isConversation,
  ownIds,
  sessionMetadata,
  systemTurn,
  thinkingLevels
} from "./SessionFacts.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { TurnWriter, text } from "./TurnWriter.ts"
import { answeredContext } from "./internal/answeredContext.ts"

export interface ExtractOptions {
  /** The path of the session file. */
  readonly sourcePath: string
  /** The role of the session; see SessionRole.ts of the catalog. */
  readonly role: GasTown.RoleDetection
  /** The Pi version whose context is used. Default: the newest. */
  readonly profile?: PiProfile
}

/** Extracts the turns of the active branch. Accepts every version of the format and does not change the session. */
export const extract = (source: Session.Session, options: ExtractOptions): ExtractedSession => {
  const { profile = newest } = options
  const session = SessionMigration.toCurrent(source)
  const header = session.header?.decode() ?? {}
  const whole = session.tree.getBranch()
  const context = answeredContext(whole, profile)
  const dropped = new DropTally()
  countUnused(session, whole, context, profile, dropped)
  const { systemEntry, systemMessages, turns: written } = write(context, header, profile, dropped)
  const prompt = WellFormed.text(ModelContext.systemPrompt(systemMessages))
  const turns = prompt === "" ? written : [systemTurn(prompt, systemEntry), ...written]
  const declared = ToolSchemas.declaredIn(systemMessages, turns)
  return {
    session_id: text(header, "id"),
    source_path: options.sourcePath.toWellFormed(),
    cwd: text(header, "cwd"),
    turns,
    tools: declared ?? ToolSchemas.used(turns),
    metadata: {
      ...sessionMetadata(source, session, header, options.role),
      ...branchMetadata(session, header, context, turns),
      tools_source: declared === undefined ? "used" : "declared",
      dropped: dropped.counts
    }
  }
}

const write = ({ branch, items }: BranchContext, header: JsonObject, profile: PiProfile, dropped: DropTally) => {
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
  return { turns: writer.turns, systemMessages, systemEntry }
}

/** Counts the messages of the session that are not in the context. */
const countUnused = (
  session: Session.Session,
  whole: ReadonlyArray<SessionEntry>,
  { branch, items }: BranchContext,
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
    // An empty branch summary gives no message.
    else if (entry.type !== "branch_summary") dropped.add("edited_out_message")
  }
}
