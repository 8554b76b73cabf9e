/** What ties a session to others, read off its lines: hashes of the first ones, and a signature of what is said in it. */
import { hash } from "node:crypto"
import * as GasTownBeacon from "@pi-sessions/core/GasTownBeacon"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type FamilyEvidence } from "./Families.ts"
import * as MinHash from "./MinHash.ts"
import { callsOf } from "./internal/turnWriter.ts"

/** A fork begins with lines of what it was forked from. */
const FIRST_LINES = 16

/** Fewer shingles say too little to call two sessions alike. */
const SHINGLES_MIN = 50

export interface EvidenceOptions {
  /** Whether what is said is compared too: then all lines count, and are decoded. */
  readonly withSignature: boolean
}

/** Gathers the evidence of a session from its lines, in file order. */
export class SessionEvidence {
  readonly #withSignature: boolean
  readonly #lines: Array<string> = []
  readonly #said = new MinHash.MinHash()
  #header: HeaderLine | undefined

  constructor({ withSignature }: EvidenceOptions) {
    this.#withSignature = withSignature
  }

  /** Whether further lines would tell nothing more. */
  get complete(): boolean {
    return !this.#withSignature && this.#header !== undefined && this.#lines.length === FIRST_LINES
  }

  push(line: SessionLine): void {
    if (line instanceof HeaderLine) this.#header ??= line
    if (!(line instanceof SessionEntry) || line.type !== "message") return
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
  for (const call of callsOf(message)) said.add(JSON.stringify(call["arguments"] ?? {}))
}
