/** Small hand-written sessions, and descriptions of sessions for assertions. */
import { type JsonObject } from "../../src/Json.ts"
import * as Session from "../../src/Session.ts"
import { type SessionDiagnostic } from "../../src/SessionDiagnostic.ts"
import { HeaderLine, SessionEntry, type SessionLine } from "../../src/SessionLine.ts"

/** The time of every sample. */
export const timestamp = "2026-01-05T10:00:00.000Z"

export const header: JsonObject = { type: "session", version: 3, id: "s1", timestamp, cwd: "/work" }

/** An entry with its base before its payload, as Pi writes most of them. */
export const entry = (type: string, id: string, parentId: string | null, payload: JsonObject = {}) => ({
  type,
  id,
  parentId,
  timestamp,
  ...payload
})

export const message = (id: string, parentId: string | null, message: JsonObject) =>
  entry("message", id, parentId, { message })

export const user = (id: string, parentId: string | null, text = id) =>
  message(id, parentId, { role: "user", content: text, timestamp: 1 })

export const assistant = (id: string, parentId: string | null, text = id, more: JsonObject = {}) =>
  message(id, parentId, {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "openai-completions",
    provider: "fake",
    model: "fake-1",
    usage: {},
    stopReason: "stop",
    timestamp: 2,
    ...more
  })

export const toolResult = (id: string, parentId: string | null, toolName: string, details: JsonObject | undefined) =>
  message(id, parentId, {
    role: "toolResult",
    toolCallId: `call_${id}`,
    toolName,
    content: [{ type: "text", text: "ok" }],
    details,
    isError: false,
    timestamp: 3
  })

/** Lines of a file: objects as JSON, strings as they are. */
export const text = (...lines: ReadonlyArray<JsonObject | string>): string =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("")

/** A session of the current version with these entries. */
export const session = (...entries: ReadonlyArray<JsonObject | string>): Session.Session =>
  Session.readText(text(header, ...entries))

export const ids = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<string | null> => entries.map(({ id }) => id)

/** Code, line and byte of each diagnostic. */
export const places = (
  diagnostics: ReadonlyArray<SessionDiagnostic>
): ReadonlyArray<readonly [code: string, line: number, byteOffset: number]> =>
  diagnostics.map(({ code, line, byteOffset }) => [code, line, byteOffset])

/** All properties of a line, without its place in memory. */
export const describeLine = (line: SessionLine): JsonObject => ({
  kind: line instanceof SessionEntry ? "entry" : line instanceof HeaderLine ? "header" : "line",
  line: line.line,
  byteOffset: line.byteOffset,
  bytes: Buffer.from(line.bytes).toString("latin1"),
  terminated: line.terminated,
  ...(line instanceof SessionEntry
    ? {
        type: line.type,
        id: line.id,
        parentId: line.parentId,
        role: line.role,
        timestamp: line.timestamp,
        recovered: line.recovered,
        payload: line.decode()
      }
    : {})
})
