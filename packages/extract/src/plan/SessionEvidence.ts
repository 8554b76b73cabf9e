/**
 * Collects the facts that tie a session to others: hashes of its first lines, of the beginnings of its conversations, and a
 * signature of its text.
 */
import { hash } from "node:crypto"
import * as GasTownBeacon from "@pi-sessions/core/gasTown/GasTownBeacon"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type FamilyEvidence } from "./Families.ts"
import * as MinHash from "./MinHash.ts"
import { ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { callsOf } from "@pi-sessions/samples/TurnWriter"

/** Messages whose lines are hashed. A fork begins with lines of its parent. */
const FIRST_LINES = 16

/** For each byte, which is read, decoded and hashed. */
const LINE_STEPS = 4

/** A session with fewer shingles has no signature. */
const SHINGLES_MIN = 50

export interface EvidenceOptions {
  /** Whether the text is compared too. Then all messages are decoded. */
  readonly withSignature: boolean
  readonly budget?: SessionBudget
}

/** Call `push` with the lines in file order. */
export class SessionEvidence {
  readonly #withSignature: boolean
  readonly #budget: SessionBudget | undefined
  readonly #lines: Array<string> = []
  readonly #openings = new Openings()
  readonly #said = new MinHash.MinHash()
  #header: HeaderLine | undefined

  constructor({ budget, withSignature }: EvidenceOptions) {
    this.#budget = budget
    this.#withSignature = withSignature
  }

  push(line: SessionLine): void {
    this.#budget?.charge("survey", ENTRY_STEPS + (line.end - line.start) * LINE_STEPS)
    if (line instanceof HeaderLine) this.#header ??= line
    if (!(line instanceof SessionEntry)) return
    this.#openings.push(line)
    if (line.type !== "message") return
    if (this.#lines.length < FIRST_LINES) this.#lines.push(hash("sha1", line.bytes, "hex").slice(0, 24))
    if (this.#withSignature) addText(line, this.#said)
  }

  /** Undefined: there is no header. */
  of(path: string): FamilyEvidence | undefined {
    if (this.#header === undefined) return undefined
    const header = this.#header.decode()
    const parentSession = stringAt(header, "parentSession")
    const signature = this.#said.shingles < SHINGLES_MIN ? undefined : this.#said.signature()
    return {
      path,
      sessionId: stringAt(header, "id") ?? "",
      timestamp: stringAt(header, "timestamp") ?? "",
      ...(parentSession === undefined ? {} : { parentSession }),
      lines: this.#lines,
      openings: this.#openings.found,
      ...(signature === undefined ? {} : { signature })
    }
  }
}

/** Adds the text of the model and the user. Beacons are equal in all sessions of a town, so they do not count. */
const addText = (entry: SessionEntry, said: MinHash.MinHash): void => {
  if (entry.role !== "assistant" && entry.role !== "user") return
  const message: JsonObject = objectAt(entry.decode(), "message") ?? {}
  const text = ModelContext.contentText(message["content"])
  if (entry.role === "user") {
    if (GasTownBeacon.parse(text) === undefined && GasTownBeacon.parsePrime(text) === undefined) said.add(text)
    return
  }
  said.add(text)
  for (const call of callsOf(message)) said.add(argumentsOf(call))
}

/** As JSON. Arguments that are nested too deeply are left out, as in samples. */
const argumentsOf = (call: JsonObject): string => {
  const args = call["arguments"] ?? {}
  return WellFormed.isShallow(args) ? JSON.stringify(args) : "{}"
}

/**
 * Hashes of each conversation up to its first answer, and of the summaries of compactions. A context begins with one of
 * these, so two sessions can share a target only if they share one of these hashes, or one is a fork of the other.
 */
class Openings {
  readonly found: Array<string> = []
  /** Hash of the messages up to an entry before any answer, by its id; null for the root. */
  readonly #unanswered = new Map<string | null, string>([[null, ""]])

  push(entry: SessionEntry): void {
    if (entry.type === "compaction") this.found.push(digest(`compacted ${stringAt(entry.decode(), "summary") ?? ""}`))
    const before = this.#unanswered.get(entry.parentId)
    if (before === undefined) return
    const said = entry.role === "user" || entry.role === "assistant" ? spoken(entry) : ""
    const after = said === "" ? before : digest(`${before}${said}`)
    const isAnswer = entry.role === "assistant" && said !== ""
    if (isAnswer) this.found.push(after)
    // Entries of version 1 have no ids. Each one follows the one before it.
    if (entry.id === undefined && isAnswer) this.#unanswered.delete(null)
    else if (!isAnswer) this.#unanswered.set(entry.id ?? null, after)
  }
}

const digest = (text: string): string => hash("sha1", text, "hex").slice(0, 24)

/** The text of a message. Empty for failed answers, which Pi does not send. */
const spoken = (entry: SessionEntry): string => {
  const message: JsonObject = objectAt(entry.decode(), "message") ?? {}
  if (message["stopReason"] === "error" || message["stopReason"] === "aborted") return ""
  const calls = callsOf(message).map(argumentsOf)
  return [`${entry.role} ${ModelContext.contentText(message["content"])}`, ...calls].join("\n")
}
