/**
 * Lossless hydration: joins a thread's raw lines into the file that Pi wrote (docs/adr/001-resume-from-a-thread.md). The
 * lineage must be complete: the header and every line from 1 on, each with a matching SHA-256.
 */
import * as Session from "@pi-sessions/core/Session"
import { stringAt } from "@pi-sessions/core/Json"
import { ID_PATTERN } from "@pi-sessions/core/SessionHeader"
import { HeaderLine } from "@pi-sessions/core/SessionLine"
import { peekHeader } from "@pi-sessions/core/SessionReader"
import { sha256 } from "../internal/sha256.ts"
import { type RawEntry, type RawHeader, type Thread } from "../Thread.ts"

/** The raw lines of one generation of a session file. */
export interface Lineage {
  readonly sessionId: string
  readonly generation: number
  readonly header: RawHeader | undefined
  /** By seq. */
  readonly lines: ReadonlyMap<number, RawEntry>
}

/**
 * The highest generation of `sessionId`. Default: the session of the newest raw entry. Undefined when the thread holds no
 * raw lines of the session.
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

/** Ids of the sessions with raw lines. */
export const sessionIds = (thread: Thread): ReadonlySet<string> =>
  new Set(
    thread.entries.flatMap((entry) =>
      entry.type === "pi.session_header" || entry.type === "pi.session_entry" ? [entry.payload.sessionId] : []
    )
  )

const encode = (line: string): Uint8Array => Buffer.from(line, "utf8")

/** The bytes of the line that a raw entry carries. */
export const bytesOf = (raw: RawHeader | RawEntry): Uint8Array | undefined => {
  if ("lineBase64" in raw && raw.lineBase64 !== undefined) return Buffer.from(raw.lineBase64, "base64")
  return raw.line === undefined ? undefined : encode(raw.line)
}

/** What is missing or wrong in a lineage; empty when it is complete. */
export const gaps = (lineage: Lineage): ReadonlyArray<string> => {
  const found: Array<string> = []
  const check = (name: string, raw: RawHeader | RawEntry): void => {
    const bytes = bytesOf(raw)
    if (bytes === undefined) found.push(`${name} holds no line`)
    else if (sha256(bytes) !== raw.sha256) found.push(`${name} does not match its sha256`)
  }
  if (lineage.header === undefined) found.push("the header is missing")
  else {
    check("the header", lineage.header)
    const id = headerIdOf(lineage.header)
    if (id === undefined) found.push("the header is not a session header")
    else if (!ID_PATTERN.test(id)) found.push(`the header's id breaks Pi's rule for ids`)
  }
  let next = 1
  for (const seq of [...lineage.lines.keys()].sort((a, b) => a - b)) {
    if (seq > next)
      found.push(
        seq === next + 1
          ? `line ${next} after the header is missing`
          : `lines ${next} to ${seq - 1} after the header are missing`
      )
    const raw = lineage.lines.get(seq)
    if (seq < 1) found.push(`a line has seq ${seq}`)
    else if (raw !== undefined) check(`line ${seq} after the header`, raw)
    next = Math.max(next, seq + 1)
  }
  return found
}

const headerIdOf = (header: RawHeader): string | undefined => {
  const value = peekHeader(encode(header.line))?.decode()
  return value === undefined ? undefined : stringAt(value, "id")
}

/** The session of a complete lineage. The header's cwd becomes `cwd`, unless that is undefined; no other line changes. */
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
