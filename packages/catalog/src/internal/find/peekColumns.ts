/** The header's columns from the first bytes of a file, without reading a line more than needed. */
import { type Json, isObject } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type HeaderColumns, columnsOf } from "../../CatalogSession.ts"

/** Why a file is no session. */
export class NoHeader {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

const EMPTY = new NoHeader("an empty file")
const NONE = new NoHeader("no line is a session header")
const ENTRY = new NoHeader("the first line is no session header")

/** `{"type":"session"`, as Pi begins every header. */
const OPENING = '{"type":"session"'
const NEWLINE = 0x0a

/**
 * The columns, or why there are none; undefined asks for more bytes. Blank and damaged lines before the header are
 * passed over, as Pi passes over them.
 */
export const peekColumns = (bytes: Uint8Array, isWhole: boolean): HeaderColumns | NoHeader | undefined => {
  const newline = bytes.indexOf(NEWLINE)
  if (newline < 0 && !isWhole) return undefined
  return quickly(bytes, newline < 0 ? bytes.length : newline) ?? thoroughly(bytes, isWhole)
}

/**
 * A header that looks as Pi writes it needs no reader, and one without a character to be unescaped not even a parser: a
 * line that matches is one JSON value.
 */
const quickly = (bytes: Uint8Array, end: number): HeaderColumns | undefined => {
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

/** What Pi writes: neither quotes nor backslashes nor controls in a text, and nothing besides. */
const USUAL =
  // eslint-disable-next-line no-control-regex
  /^\{"type":"session","version":([1-9]),"id":"([^"\\\u0000-\u001f]*)","timestamp":"([^"\\\u0000-\u001f]*)","cwd":"([^"\\\u0000-\u001f]*)"\}$/

const decode = (bytes: Uint8Array, end: number): string =>
  (bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).toString("utf8", 0, end)

const thoroughly = (bytes: Uint8Array, isWhole: boolean): HeaderColumns | NoHeader | undefined => {
  // The reader's lines point into what it is given, and these bytes will be overwritten.
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

/** What the reader says of lines that are JSON but neither header nor entry. */
const VALUES: ReadonlySet<string> = new Set(["not-an-object", "missing-type", "missing-id"])
