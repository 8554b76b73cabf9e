/** Reads the header's columns from the first bytes of a file. */
import { type Json, isObject } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type HeaderColumns, columnsOf } from "../../CatalogSession.ts"

/** Why a file is not a session. */
export class NoHeader {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

const EMPTY = new NoHeader("an empty file")
const NONE = new NoHeader("no line is a session header")
const ENTRY = new NoHeader("the first line is no session header")

/** The beginning of every header that Pi writes. */
const OPENING = '{"type":"session"'
const NEWLINE = 0x0a

/**
 * The columns, or why there are none; undefined if more bytes are needed. Skips blank and damaged lines, as Pi does.
 */
export const peekColumns = (bytes: Uint8Array, isWhole: boolean): HeaderColumns | NoHeader | undefined => {
  const newline = bytes.indexOf(NEWLINE)
  if (newline < 0 && !isWhole) return undefined
  return fromUsualHeader(bytes, newline < 0 ? bytes.length : newline) ?? fromReader(bytes, isWhole)
}

/** The columns of a header in Pi's own format, without the reader, and without a JSON parser if nothing is escaped. */
const fromUsualHeader = (bytes: Uint8Array, end: number): HeaderColumns | undefined => {
  const line = decode(bytes, end)
  if (!line.startsWith(OPENING)) return undefined
  const usual = USUAL.exec(line)
  if (usual !== null) {
    const [, version, id = "", timestamp = "", cwd = ""] = usual
    return { id, cwd, timestamp, version: Number(version) }
  }
  try {
    const value: Json = JSON.parse(line)
    return isObject(value) && value["type"] === "session" && typeof value["id"] === "string"
      ? columnsOf(value)
      : undefined
  } catch {
    return undefined
  }
}

/** A header as Pi writes it, whose texts contain no quotes, backslashes or control characters. */
const USUAL =
  // eslint-disable-next-line no-control-regex
  /^\{"type":"session","version":([1-9]),"id":"([^"\\\u0000-\u001f]*)","timestamp":"([^"\\\u0000-\u001f]*)","cwd":"([^"\\\u0000-\u001f]*)"\}$/

const decode = (bytes: Uint8Array, end: number): string =>
  (bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).toString("utf8", 0, end)

const fromReader = (bytes: Uint8Array, isWhole: boolean): HeaderColumns | NoHeader | undefined => {
  // Copied, because lines point into the buffer, which is reused.
  const reader = new SessionReader()
  const lines: Array<SessionLine> = [...reader.push(bytes.slice())]
  if (isWhole) lines.push(...reader.end())
  const first = lines.find((line) => line instanceof HeaderLine || line instanceof SessionEntry)
  if (first instanceof HeaderLine && !reader.diagnostics.some(({ code }) => code === "header-not-first")) {
    return columnsOf(first.decode())
  }
  if (first !== undefined) return ENTRY
  if (reader.diagnostics.some(({ code }) => VALUES.has(code))) return ENTRY
  return isWhole ? (bytes.length === 0 ? EMPTY : NONE) : undefined
}

/** Diagnostics of lines that are JSON but neither header nor entry. */
const VALUES: ReadonlySet<string> = new Set(["not-an-object", "missing-type", "missing-id"])
