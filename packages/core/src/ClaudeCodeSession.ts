/**
 * Reads transcripts of Claude Code (`~/.claude/projects/<directory>/<session id>.jsonl`) as sessions of Pi. Pi 1.5 opens
 * the sessions when they are written. The format has no specification; this follows transcripts up to version 2.1.
 *
 * - A line has a `uuid`, and its parent's in `parentUuid`. Entries keep these ids. A line that is not a message has no
 *   entry; its children follow its parent.
 * - The lines of one answer have the same message id, one for each block; they become one message. The results of its calls
 *   follow it in file order.
 * - Messages of Claude Code itself in the user's place (`isMeta`, summaries, output of commands, interruptions) are
 *   `custom_message` entries, see claudeCode/HarnessMessage.ts.
 * - An interrupted answer has the stop reason `aborted`, an error of the API `error`; requests omit both. Other answers
 *   that no model gave (`<synthetic>`) have no entry.
 * - A compaction starts a new chain in a transcript. Here the chain continues, and a context edit removes each entry before
 *   the compaction that it did not keep. Its summary is a message.
 * - Sub-agents (`isSidechain`) are branches with their own roots. A transcript of a sub-agent alone is a session whose
 *   parent is the calling session.
 * - The leaf is the last line of the conversation in the file.
 *
 * Transcripts lack the system prompt and the texts of most attachments, so that requests cannot be rebuilt exactly. The
 * header's `harness` names the program.
 */
import { type JsonObject, isObject, objectAt, stringAt } from "./Json.ts"
import * as Session from "./Session.ts"
import { isBlank } from "./LineValue.ts"
import { HeaderLine, SessionEntry, type SessionLine } from "./SessionLine.ts"
import { Chain, type TranscriptLine, TranscriptTooLarge } from "./internal/claudeCodeChain.ts"

export { TranscriptTooLarge }

/** Name of the program in headers and samples. */
export const HARNESS = "claude-code"

const TYPES = new Set(["user", "assistant", "system", "attachment", "progress"])

/** Whether a line is of a conversation of Claude Code. No line of a Pi session is. */
export const isTranscriptLine = (line: SessionLine): line is SessionEntry => {
  if (!(line instanceof SessionEntry) || !TYPES.has(line.type)) return false
  const value = line.decode()
  return stringAt(value, "uuid") !== undefined && stringAt(value, "sessionId") !== undefined
}

/**
 * The session of a transcript, from the lines of a `SessionReader`; undefined when it has no messages. Throws
 * `TranscriptTooLarge`.
 */
export const fromLines = (lines: Iterable<SessionLine>): Session.Session | undefined => {
  const transcript = new Transcript()
  for (const line of lines) transcript.push(line)
  return transcript.session()
}

class Transcript {
  readonly #conversation = new Map<string, TranscriptLine>()
  readonly #damaged: Array<SessionLine> = []
  /** By type of line. */
  readonly #titles = new Map<string, string>()
  /** By `leafUuid`, which may be in another session. */
  readonly #summaries = new Map<string, string>()

  push(line: SessionLine): void {
    if (!(line instanceof SessionEntry)) {
      if (!isBlank(line)) this.#damaged.push(line)
      return
    }
    const value = line.decode()
    const uuid = stringAt(value, "uuid")
    if (uuid === undefined || !TYPES.has(line.type)) return this.#title(line.type, value)
    // A resumed transcript repeats lines: the first with a uuid counts.
    if (this.#conversation.has(uuid)) return
    this.#conversation.set(uuid, {
      entry: line,
      value,
      message: objectAt(value, "message") ?? {},
      uuid,
      parentUuid: stringAt(value, "parentUuid"),
      isSidechain: value["isSidechain"] === true
    })
  }

  session(): Session.Session | undefined {
    const conversation = [...this.#conversation.values()]
    const ofSubAgent = conversation.every(({ isSidechain }) => isSidechain)
    const chain = new Chain(ofSubAgent ? conversation.map((line) => ({ ...line, isSidechain: false })) : conversation)
    const last = conversation.findLast(({ isSidechain }) => ofSubAgent || !isSidechain)
    if (last === undefined || !chain.hasMessages) return undefined
    const summary = [...this.#summaries].findLast(([leafUuid]) => this.#conversation.has(leafUuid))?.[1]
    // The user's title has priority over the program's.
    chain.end(last, this.#titles.get("custom-title") ?? this.#titles.get("ai-title") ?? summary)
    const header = HeaderLine.make(headerOf(conversation, last, ofSubAgent), conversation[0]?.entry)
    const lines = [...chain.entries, ...this.#damaged].sort((a, b) => a.byteOffset - b.byteOffset)
    // Read again, so that positions and diagnostics are those of the session's file.
    return Session.read(Session.print([header, ...lines]))
  }

  #title(type: string, value: JsonObject): void {
    const [leafUuid, summary] = [stringAt(value, "leafUuid"), stringAt(value, "summary")]
    if (leafUuid !== undefined && summary !== undefined) this.#summaries.set(leafUuid, summary)
    const title = stringAt(value, "customTitle") ?? stringAt(value, "aiTitle")
    if (title !== undefined) this.#titles.set(type, title)
  }
}

const headerOf = (
  conversation: ReadonlyArray<TranscriptLine>,
  last: TranscriptLine,
  ofSubAgent: boolean
): JsonObject => {
  const id = stringAt(last.value, "sessionId") ?? ""
  const agentId = stringAt(last.value, "agentId") ?? "sub-agent"
  const forkedFrom = conversation.map(({ value }) => objectAt(value, "forkedFrom")).find(isObject)
  const parentId = ofSubAgent ? id : (stringAt(forkedFrom ?? {}, "sessionId") ?? "")
  return {
    type: "session",
    version: 3,
    id: ofSubAgent ? `${id}.agent-${agentId}` : id,
    timestamp: stringAt(conversation[0]?.value ?? {}, "timestamp") ?? "",
    cwd: conversation.map(({ value }) => stringAt(value, "cwd")).find((cwd) => cwd !== undefined) ?? "",
    // The file name: the directory is not known here.
    ...(parentId === "" ? {} : { parentSession: `${parentId}.jsonl` }),
    // Transcripts do not record the thinking level.
    thinkingLevel: "unknown",
    harness: HARNESS
  }
}
