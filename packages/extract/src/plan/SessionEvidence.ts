/**
 * What ties a session to others, read off its lines: hashes of the first ones, how its conversations begin, and a
 * signature of what is said in it.
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

/** A fork begins with lines of what it was forked from. */
const FIRST_LINES = 16

/** Of each byte: it is read, decoded and hashed. */
const LINE_STEPS = 4

/** Fewer shingles say too little to call two sessions alike. */
const SHINGLES_MIN = 50

export interface EvidenceOptions {
  /** Whether what is said is compared too: then all answers are decoded. */
  readonly withSignature: boolean
  readonly budget?: SessionBudget
}

/** Gathers the evidence of a session from its lines, in file order. */
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
    if (this.#withSignature) sayings(line, this.#said)
  }

  /** What was gathered; undefined without a header. */
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

/** What the model and the user said. Beacons are alike in all sessions of a town, and results are the machine's. */
const sayings = (entry: SessionEntry, said: MinHash.MinHash): void => {
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

/** As JSON; those that a sample does not have either are none. */
const argumentsOf = (call: JsonObject): string => {
  const args = call["arguments"] ?? {}
  return WellFormed.isShallow(args) ? JSON.stringify(args) : "{}"
}

/**
 * What was said up to the first answer of each conversation in a session, and what compactions said: a model is sent
 * either from the beginning on. So two samples can have a target in common only where their sessions share one of these,
 * or one session was made of the other.
 */
class Openings {
  readonly found: Array<string> = []
  /** What was said up to an entry, while nothing was answered; by id, and before the first one by null. */
  readonly #unanswered = new Map<string | null, string>([[null, ""]])

  push(entry: SessionEntry): void {
    if (entry.type === "compaction") this.found.push(digest(`compacted ${stringAt(entry.decode(), "summary") ?? ""}`))
    const before = this.#unanswered.get(entry.parentId)
    if (before === undefined) return
    const said = entry.role === "user" || entry.role === "assistant" ? spoken(entry) : ""
    const after = said === "" ? before : digest(`${before}${said}`)
    const isAnswer = entry.role === "assistant" && said !== ""
    if (isAnswer) this.found.push(after)
    // Entries of version 1 have no ids: each follows the one before it.
    if (entry.id === undefined && isAnswer) this.#unanswered.delete(null)
    else if (!isAnswer) this.#unanswered.set(entry.id ?? null, after)
  }
}

const digest = (text: string): string => hash("sha1", text, "hex").slice(0, 24)

/** Nothing where Pi sends nothing of it: an answer that failed. */
const spoken = (entry: SessionEntry): string => {
  const message: JsonObject = objectAt(entry.decode(), "message") ?? {}
  if (message["stopReason"] === "error" || message["stopReason"] === "aborted") return ""
  const calls = callsOf(message).map(argumentsOf)
  return [`${entry.role} ${ModelContext.contentText(message["content"])}`, ...calls].join("\n")
}
