/** What ties a session to others, read off its entries: hashes of its lines, and a signature of what is said in it. */
import { hash } from "node:crypto"
import * as GasTownBeacon from "@pi-sessions/core/GasTownBeacon"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type FamilyEvidence } from "./Families.ts"
import * as MinHash from "./MinHash.ts"
import { callsOf } from "./internal/turnWriter.ts"

/** Forks hold the beginning of their parents, so the first lines tell; of the others one in eight is enough. */
const FIRST_LINES = 16

/** Fewer shingles say too little to call two sessions alike. */
const SHINGLES_MIN = 50

export interface EvidenceOptions {
  /** Whether what is said in it is compared too; it has to be decoded for that. */
  readonly withSignature: boolean
}

export const of = (session: Session.Session, path: string, { withSignature }: EvidenceOptions): FamilyEvidence => {
  const header = session.header?.decode() ?? {}
  const lines: Array<string> = []
  const said = new MinHash.MinHash()
  for (const entry of session.tree.getEntries()) {
    if (entry.type !== "message") continue
    const digest = hash("sha1", entry.bytes, "hex")
    if (lines.length < FIRST_LINES || (Number.parseInt(digest[0] ?? "0", 16) & 7) === 0) lines.push(digest.slice(0, 24))
    if (withSignature) sayings(entry, said)
  }
  const parentSession = stringAt(header, "parentSession")
  const signature = said.shingles < SHINGLES_MIN ? undefined : said.signature()
  return {
    path,
    sessionId: stringAt(header, "id") ?? "",
    timestamp: stringAt(header, "timestamp") ?? "",
    ...(parentSession === undefined ? {} : { parentSession }),
    lines,
    ...(signature === undefined ? {} : { signature })
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
