/**
 * Lossless hydration (seed 000, "later"): raw lines of a thread put together to the very file that Pi wrote. The
 * lineage must be whole: the header, every line from 1 on, each with the SHA-256 that the mirror took of it.
 */
import { createHash } from "node:crypto"
import * as Session from "@pi-sessions/core/Session"
import { stringAt } from "@pi-sessions/core/Json"
import { HeaderLine } from "@pi-sessions/core/SessionLine"
import { type RawEntry, type RawHeader, type Thread } from "./Thread.ts"

/** The raw lines of one append-only life of a session file. */
export interface Lineage {
  readonly sessionId: string
  readonly generation: number
  readonly header: RawHeader | undefined
  /** By seq. */
  readonly lines: ReadonlyMap<number, RawEntry>
}

/**
 * The lineage to hydrate: that of `sessionId`, by default of the newest raw entry, in its highest generation.
 * Undefined when the thread holds no raw lines of it.
 */
export const choose = (thread: Thread, sessionId?: string): Lineage | undefined => {
  const raw = thread.entries.flatMap((entry) =>
    entry.type === "pi.session_header" || entry.type === "pi.session_entry" ? [entry] : []
  )
  const chosen = sessionId ?? raw.at(-1)?.payload.sessionId
  const own = raw.filter(({ payload }) => payload.sessionId === chosen)
  if (chosen === undefined || own.length === 0) return undefined
  const generation = own.reduce((highest, { payload }) => Math.max(highest, payload.generation ?? 0), 0)
  let header: RawHeader | undefined
  const lines = new Map<number, RawEntry>()
  for (const entry of own) {
    if ((entry.payload.generation ?? 0) !== generation) continue
    if (entry.type === "pi.session_header") header ??= entry.payload
    else if (!lines.has(entry.payload.seq)) lines.set(entry.payload.seq, entry.payload)
  }
  return { sessionId: chosen, generation, header, lines }
}

/** Ids of the sessions that a thread holds raw lines of. */
export const sessionIds = (thread: Thread): ReadonlySet<string> =>
  new Set(
    thread.entries.flatMap((entry) =>
      entry.type === "pi.session_header" || entry.type === "pi.session_entry" ? [entry.payload.sessionId] : []
    )
  )

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const bytesOf = (raw: RawHeader | RawEntry): Uint8Array | undefined => {
  if ("lineBase64" in raw && raw.lineBase64 !== undefined) return Buffer.from(raw.lineBase64, "base64")
  return raw.line === undefined ? undefined : Buffer.from(raw.line, "utf8")
}

/** What is missing or wrong in a lineage; empty when the file can be given back byte for byte. */
export const gaps = (lineage: Lineage): ReadonlyArray<string> => {
  const found: Array<string> = []
  const check = (name: string, raw: RawHeader | RawEntry | undefined): void => {
    const bytes = raw === undefined ? undefined : bytesOf(raw)
    if (raw === undefined || bytes === undefined) found.push(`${name} is missing`)
    else if (sha256(bytes) !== raw.sha256) found.push(`${name} does not match its sha256`)
  }
  check("the header", lineage.header)
  const last = Math.max(0, ...lineage.lines.keys())
  for (let seq = 1; seq <= last; seq++) check(`line ${seq} after the header`, lineage.lines.get(seq))
  return found
}

/**
 * The session of a lineage without gaps. Its header's cwd becomes `cwd` where it differs, the one line that may change;
 * undefined leaves it.
 */
export const assemble = (lineage: Lineage, cwd: string | undefined): Session.Session => {
  const newline = Buffer.from("\n")
  const ordered = [...lineage.lines.entries()].sort(([a], [b]) => a - b).map(([, raw]) => raw)
  const parts = [...(lineage.header === undefined ? [] : [lineage.header]), ...ordered]
  const session = Session.read(parts.flatMap((raw) => [bytesOf(raw) ?? newline.subarray(0, 0), newline]))
  const { header } = session
  if (header === undefined || cwd === undefined || stringAt(header.decode(), "cwd") === cwd) return session
  const moved = HeaderLine.make({ ...header.decode(), cwd }, header)
  return Session.fromLines(session.lines.map((line) => (line === header ? moved : line)))
}
