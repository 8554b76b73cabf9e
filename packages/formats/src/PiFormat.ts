/**
 * Format `pi`: the redacted session, one file each, which Pi opens with the same tree.
 *
 * Each line stays at its place. Bytes that redaction does not change are copied: numbers, white space, unknown members.
 * Equal strings have equal replacements, so ids still match. Images are kept; text inside images is not redacted.
 * Signatures and encrypted thinking are removed, since only the provider can read them. A Pi that resumes the session
 * sends such thinking like another provider's, or not at all.
 *
 * The header of a redacted session has the mark `"redacted":{"by":"pi-sessions"}`, so that it cannot be taken for the
 * original.
 */
import { isBlank, valueOf } from "@pi-sessions/core/LineValue"
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { objectAt, stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { DropTally } from "@pi-sessions/samples/DropCounts"
import { ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { MessagesFormat } from "./MessagesFormat.ts"
import { type SampleFormat, type WrittenSession } from "./SampleFormat.ts"
import { type RedactionScope, type Redactor } from "@pi-sessions/redaction/Redactor"
import * as JsonStrings from "@pi-sessions/redaction/JsonStrings"
import * as JsonText from "@pi-sessions/core/JsonText"
import { imageKind } from "@pi-sessions/samples/ImageKind"

const MARK = `"redacted":{"by":"pi-sessions"}`

/**
 * Returns the session as Pi reads it, without secrets and personal names; unchanged if there is no redactor. The source
 * path is not written, since it can contain a user's name. Two sessions with the same id and timestamp have the same
 * file name.
 */
export const project = (
  session: Session.Session,
  redactor: Redactor | undefined,
  sourcePath = "",
  budget?: SessionBudget
): WrittenSession => {
  const header = session.header?.decode() ?? {}
  const paths = [stringAt(header, "cwd") ?? "", stringAt(header, "parentSession") ?? "", sourcePath]
  const scope = redactor?.scope(paths, promptsOf(session), undefined, budget)
  const dropped = new DropTally()
  const visitor = visitorOf(scope, dropped)
  const pieces: Array<Uint8Array> = []
  for (const line of physicalLines(session)) {
    const written = writeLine(line, session.header, visitor, scope !== undefined)
    if (written === undefined) dropped.add("damaged_line")
    else pieces.push(...written)
    const length = (written ?? []).reduce((sum, piece) => sum + piece.length, 0)
    budget?.charge("lines", ENTRY_STEPS + length, length)
  }
  return {
    fileName: fileNameOf(header, scope),
    bytes: Buffer.concat(pieces),
    redacted: scope?.counts ?? {},
    dropped: dropped.counts
  }
}

/** Texts that can contain a user and a host name, such as shell prompts. */
const promptsOf = (session: Session.Session): ReadonlyArray<string> =>
  session.lines.flatMap(({ text }) => (text.includes("@") ? [text] : []))

/**
 * The pieces of each line of the file: one, unless the line is damaged. Skips a byte order mark, which Pi 1.5 refuses.
 */
function* physicalLines({ lines }: Session.Session): Generator<ReadonlyArray<SessionLine>> {
  let pieces: Array<SessionLine> = []
  for (const line of lines) {
    if (line.byteOffset === 0 && line.end - line.start === 3 && line.text === "\ufeff") continue
    if (pieces.length > 0 && pieces[0]?.line !== line.line) {
      yield pieces
      pieces = []
    }
    pieces.push(line)
  }
  if (pieces.length > 0) yield pieces
}

const NEWLINE = new Uint8Array([0x0a])

/** The bytes of a line with its newline; undefined if the line is damaged and must be redacted. */
const writeLine = (
  pieces: ReadonlyArray<SessionLine>,
  header: HeaderLine | undefined,
  visitor: JsonStrings.StringVisitor,
  isRedacting: boolean
): ReadonlyArray<Uint8Array> | undefined => {
  const end = pieces.at(-1)?.terminated === true ? [NEWLINE] : []
  if (pieces.some(isDamaged)) return isRedacting ? undefined : [...pieces.map((piece) => piece.bytes), ...end]
  const written = pieces.map((piece) => {
    const { text } = piece
    if (!isRedacting && !MAY_BE_SIGNED.test(text)) return piece.bytes
    const rewritten = JsonStrings.rewrite(text, visitor)
    const marked = isRedacting && piece === header ? withMark(rewritten) : rewritten
    return marked === text ? piece.bytes : Buffer.from(marked)
  })
  return [...written, ...end]
}

/** Whether a line is neither JSON nor blank. Lines that the reader parsed as entries are JSON. */
const isDamaged = (line: SessionLine): boolean =>
  !(line instanceof SessionEntry || line instanceof HeaderLine) && !isBlank(line) && valueOf(line) === undefined

/** A line that does not match has no signature. Member names can contain escapes. */
const MAY_BE_SIGNED = /Signature|\\u/u

const withMark = (header: string): string => {
  const object = JsonText.parseObject(header) ?? {}
  if (stringAt(objectAt(object, "redacted") ?? {}, "by") === "pi-sessions") return header
  const end = header.lastIndexOf("}")
  return `${header.slice(0, end)},${MARK}${header.slice(end)}`
}

/** Members that only a provider can read, by the type of their block. */
const SIGNATURES: ReadonlyMap<string, string> = new Map([
  ["thinking", "thinkingSignature"],
  ["text", "textSignature"],
  ["toolCall", "thoughtSignature"]
])

/** Redacts strings, or only removes signatures if there is no scope. */
const visitorOf = (scope: RedactionScope | undefined, dropped: DropTally): JsonStrings.StringVisitor => ({
  key: (name, before) => {
    if (scope === undefined || MEMBERS.has(name)) return name
    const redacted = scope.text(name)
    return redacted === name ? name : before.unused(redacted)
  },
  value: (value, key, siblings) => {
    const type = siblings.get("type")
    if (type !== undefined && SIGNATURES.get(type) === key) {
      dropped.add("signature")
      return undefined
    }
    if (scope === undefined || (WORD_MEMBERS.has(key) && WORDS.has(value))) return value
    if (key === "data" && type === "image" && imageKind(value) !== undefined) return value
    if (MEMBERS.has(key)) return scope.text(value)
    return scope.member(key === "value" ? (siblings.get("name") ?? siblings.get("key") ?? key) : key, value)
  }
})

/** Pi's members with enumerated values. They must not change, even if a user has the same name as a value. */
const WORD_MEMBERS = new Set(["type", "role", "stopReason", "thinkingLevel", "kind", "status"])
const WORDS = new Set(
  (
    "session message thinking_level_change model_change compaction branch_summary custom custom_message label session_info " +
    "usage context_edit user assistant toolResult bashExecution system hookMessage compactionSummary branchSummary text " +
    "thinking image toolCall stop length toolUse error aborted deferred pending off minimal low medium high xhigh max " +
    "cache_warm ok unfinished"
  ).split(" ")
)

/** Pi's own members: their names are kept, since they contain no secret. */
const MEMBERS = new Set(
  (
    "type id parentId timestamp version cwd parentSession redacted by provider modelId thinkingLevel branchedFrom harness " +
    "message role content api model usage stopReason responseModel responseId diagnostics errorMessage error details " +
    "providerThinkingLevel deferred expiresAt pollAfterMs data rawStopReason endTurn durationMs toolCallId toolName isError " +
    "nestedCalls calls complete name arguments argumentsBytes status command output exitCode cancelled truncated " +
    "fullOutputPath excludeFromContext sections toolsAdded toolsRemoved description parameters text thinking mimeType " +
    "namespace argumentsError input cacheRead cacheWrite totalTokens cost total cacheWrite1h reasoning totalFromProvider " +
    "truncation diff patch firstChangedLine summary firstKeptEntryId firstKeptEntryIndex tokensBefore fromHook systemMessage " +
    "readFiles modifiedFiles fromId customType display targetId label kind note replacement"
  ).split(" ")
)

const MAX_NAME = 150

/** `2026-01-05T10-00-00-000Z_<id>.jsonl`; `session_<id>-<hash>.jsonl` if the header has no timestamp. */
const fileNameOf = (header: { readonly [key: string]: unknown }, scope: RedactionScope | undefined): string => {
  const part = (key: string): string => {
    const value = header[key]
    return typeof value === "string" ? (scope?.text(value) ?? value) : ""
  }
  const name = `${part("timestamp").replaceAll(/[:.]/gu, "-")}_${part("id")}`
  // Names in a dataset begin with a letter or a digit. Others could be hidden files or leave the folder.
  const begun = /^[A-Za-z0-9]/u.test(name) ? name : `session${name}`
  const safe = begun.replaceAll(/[^\w.-]/gu, "-").slice(0, MAX_NAME)
  if (safe === name) return `${name}.jsonl`
  return `${safe}-${createHash("sha256").update(name.toWellFormed()).digest("hex").slice(0, 8)}.jsonl`
}

/** A file that Pi would refuse, or that contains something which must be redacted. */
export class InvalidPiSession extends Schema.TaggedError<InvalidPiSession>()("InvalidPiSession", {
  /** From 1. */
  line: Schema.Int,
  byteOffset: Schema.Int,
  /** Contains no text of the line. */
  issue: Schema.String
}) {
  override get message(): string {
    return `not a session of pi: line ${this.line}: ${this.issue}`
  }
}

/** Validates an output file: Pi opens it, it has no signatures, and if redacted, no damaged line. */
export const validate = (bytes: Uint8Array): Result.Result<Session.Session, InvalidPiSession> => {
  const session = Session.read(bytes)
  const wrong = session.diagnostics.find(({ code }) => REFUSED.has(code))
  if (wrong !== undefined) {
    const { byteOffset, code, line } = wrong
    return Result.fail(new InvalidPiSession({ line, byteOffset, issue: REFUSED.get(code) ?? code }))
  }
  const isRedacted = stringAt(objectAt(session.header?.decode() ?? {}, "redacted") ?? {}, "by") !== undefined
  const dropped = new DropTally()
  const visitor = visitorOf(undefined, dropped)
  for (const piece of session.lines) {
    const { byteOffset, line } = piece
    const invalid = (issue: string) => Result.fail(new InvalidPiSession({ line, byteOffset, issue }))
    if (isDamaged(piece)) {
      if (isRedacted) return invalid("a damaged line, which cannot be redacted")
    } else if (MAY_BE_SIGNED.test(piece.text)) {
      JsonStrings.rewrite(piece.text, visitor)
      if ("signature" in dropped.counts) return invalid("a signature")
    }
  }
  return Result.succeed(session)
}

const REFUSED = new Map<string, string>([
  ["missing-header", "there is no header"],
  ["header-not-first", "the header is not the first line"],
  ["bom", "a byte order mark"]
])

/** Whether a session is in the dataset is decided by its samples as messages. */
export const PiFormat: SampleFormat<unknown> = {
  name: "pi",
  trainer:
    "Sessions of Pi, a file each: Pi opens them, and the Hub shows them as traces. Nothing in them says what to train on.",
  cardTags: ["format:agent-traces"],
  passesTexts: true,
  project: MessagesFormat.project,
  validate: MessagesFormat.validate,
  wholeSession: { project, validate }
}
