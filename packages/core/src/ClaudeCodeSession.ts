/**
 * Sessions of Claude Code: its transcripts (`~/.claude/projects/<directory>/<session id>.jsonl`) as sessions of Pi in
 * memory, so that whatever is done with Pi's sessions can be done with them. Pi 1.5 opens what is written of one.
 *
 * The format is nobody's specification and changes with versions; what is said here is what transcripts up to 2.1 show.
 *
 * - A line has a `uuid`, and names the one before it by `parentUuid`. Ids stay; lines that are no messages are left out,
 *   and what follows them follows what they followed.
 * - An answer is one message id, on as many lines as it has blocks: here one message. The results of its calls, which
 *   hang on those lines like branches, follow it one by one in file order.
 * - What Claude Code itself said to the model in the user's place (`isMeta`, summaries, output of commands, marks of an
 *   interruption) are messages of an extension, `custom_message`, whose type says what they are.
 * - An answer that was interrupted is aborted, one that the program made up for an error of the API is an error: both are
 *   left out of requests. Other answers that no model gave (`<synthetic>`) are left out.
 * - A compaction begins a new chain there. Here the chain goes on, and what stood before is taken out of the context by
 *   an edit each, as the summary is a message of its own and no text is added to it.
 * - Sub-agents (`isSidechain`) are branches of their own, with roots of their own; a transcript of nothing else is the
 *   session of that sub-agent, whose parent is the session that it ran in.
 * - The session ends on the last line of the conversation in the file.
 *
 * The system prompt is in no transcript, nor is all that was told beside the conversation (attachments). So nobody can
 * say what exactly was sent, and the header names the program: `harness`.
 */
import { type JsonObject, isObject, objectAt, stringAt } from "./Json.ts"
import * as Session from "./Session.ts"
import { isBlank } from "./LineValue.ts"
import { HeaderLine, SessionEntry, type SessionLine } from "./SessionLine.ts"
import { Chain, type TranscriptLine } from "./internal/claudeCodeChain.ts"

/** The program, as headers and samples name it. */
export const HARNESS = "claude-code"

const TYPES = new Set(["user", "assistant", "system", "attachment", "progress"])

/** Whether a line stands in a conversation of Claude Code. No line of a Pi session does. */
export const isTranscriptLine = (line: SessionLine): line is SessionEntry => {
  if (!(line instanceof SessionEntry) || !TYPES.has(line.type)) return false
  const value = line.decode()
  return stringAt(value, "uuid") !== undefined && stringAt(value, "sessionId") !== undefined
}

/** The session of a transcript, given its lines as `SessionReader` gives them; undefined where no message is on them. */
export const fromLines = (lines: Iterable<SessionLine>): Session.Session | undefined => {
  const transcript = new Transcript()
  for (const line of lines) transcript.push(line)
  return transcript.session()
}

class Transcript {
  readonly #said = new Map<string, TranscriptLine>()
  readonly #damaged: Array<SessionLine> = []
  /** By type of line. */
  readonly #titles = new Map<string, string>()
  /** By the line that each ends on, which may be another session's. */
  readonly #summaries = new Map<string, string>()

  push(line: SessionLine): void {
    if (!(line instanceof SessionEntry)) {
      if (!isBlank(line)) this.#damaged.push(line)
      return
    }
    const value = line.decode()
    const uuid = stringAt(value, "uuid")
    if (uuid === undefined || !TYPES.has(line.type)) return this.#title(line.type, value)
    // Resuming copies lines: of one uuid the first counts.
    if (this.#said.has(uuid)) return
    this.#said.set(uuid, {
      entry: line,
      value,
      message: objectAt(value, "message") ?? {},
      uuid,
      parentUuid: stringAt(value, "parentUuid"),
      isSidechain: value["isSidechain"] === true
    })
  }

  session(): Session.Session | undefined {
    const said = [...this.#said.values()]
    const ofSubAgent = said.every(({ isSidechain }) => isSidechain)
    const chain = new Chain(ofSubAgent ? said.map((line) => ({ ...line, isSidechain: false })) : said)
    const last = said.findLast(({ isSidechain }) => ofSubAgent || !isSidechain)
    if (last === undefined || !chain.hasMessages) return undefined
    const summary = [...this.#summaries].findLast(([leafUuid]) => this.#said.has(leafUuid))?.[1]
    // What the person called it, else what the program did.
    chain.end(last, this.#titles.get("custom-title") ?? this.#titles.get("ai-title") ?? summary)
    const header = HeaderLine.make(headerOf(said, last, ofSubAgent), said[0]?.entry)
    const lines = [...chain.entries, ...this.#damaged].sort((a, b) => a.byteOffset - b.byteOffset)
    // Read as Pi's file of it would be: by the one reader, with places of its own for all lines.
    return Session.read(Session.print([header, ...lines]))
  }

  #title(type: string, value: JsonObject): void {
    const [leafUuid, summary] = [stringAt(value, "leafUuid"), stringAt(value, "summary")]
    if (leafUuid !== undefined && summary !== undefined) this.#summaries.set(leafUuid, summary)
    const title = stringAt(value, "customTitle") ?? stringAt(value, "aiTitle")
    if (title !== undefined) this.#titles.set(type, title)
  }
}

const headerOf = (said: ReadonlyArray<TranscriptLine>, last: TranscriptLine, ofSubAgent: boolean): JsonObject => {
  const id = stringAt(last.value, "sessionId") ?? ""
  const agentId = stringAt(last.value, "agentId") ?? "sub-agent"
  const forkedFrom = said.map(({ value }) => objectAt(value, "forkedFrom")).find(isObject)
  const parentId = ofSubAgent ? id : (stringAt(forkedFrom ?? {}, "sessionId") ?? "")
  return {
    type: "session",
    version: 3,
    id: ofSubAgent ? `${id}.agent-${agentId}` : id,
    timestamp: stringAt(said[0]?.value ?? {}, "timestamp") ?? "",
    cwd: said.map(({ value }) => stringAt(value, "cwd")).find((cwd) => cwd !== undefined) ?? "",
    // The name of its file: the directory is not known here.
    ...(parentId === "" ? {} : { parentSession: `${parentId}.jsonl` }),
    // Transcripts do not say how much the model was told to think.
    thinkingLevel: "unknown",
    harness: HARNESS
  }
}
