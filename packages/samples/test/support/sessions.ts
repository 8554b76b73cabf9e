/** Writes small sessions, and extracts turns and samples from them. */
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { type ExtractedSession } from "../../src/ExtractedSession.ts"
import * as SampleCut from "../../src/SampleCut.ts"
import * as SessionTurns from "../../src/SessionTurns.ts"
import { type TrainingSample } from "../../src/TrainingSample.ts"

/** A file with one line for each object. */
export const file = (...lines: ReadonlyArray<JsonObject>): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("")

export const header = (more: JsonObject = {}): JsonObject => ({
  type: "session",
  version: 3,
  id: "s1",
  timestamp: "2026-01-05T10:00:00.000Z",
  cwd: "/srv/project",
  ...more
})

/** A file in which each entry follows the one before it. Ids are e1, e2, ... unless given. */
export const chain = (...entries: ReadonlyArray<JsonObject>): string => file(header(), ...linked(entries))

/** Entries whose parent is the entry before, unless given. */
export const linked = (entries: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  let parentId: string | null = null
  return entries.map((entry, index) => {
    const made = {
      id: `e${index + 1}`,
      parentId,
      timestamp: `2026-01-05T10:00:${String(index).padStart(2, "0")}.000Z`,
      ...entry
    }
    parentId = made.id
    return made
  })
}

export const message = (message: JsonObject): JsonObject => ({ type: "message", message })

export const user = (content: JsonObject["content"]): JsonObject => message({ role: "user", content, timestamp: 1 })

export const text = (text: string): JsonObject => ({ type: "text", text })

export const call = (id: string, name = "bash", args: JsonObject = { command: "ls" }): JsonObject => ({
  type: "toolCall",
  id,
  name,
  arguments: args
})

export const image: JsonObject = {
  type: "image",
  data: "aGVsbG8gd29ybGQgdGhpcyBpcyBhbiBpbWFnZQ==",
  mimeType: "image/png"
}

export const assistant = (content: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject =>
  message({
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "fake",
    model: "fake-1",
    usage: {
      input: 10,
      output: 5,
      cacheRead: 2,
      cacheWrite: 1,
      totalTokens: 18,
      cost: { input: 0.1, output: 0.2, cacheRead: 0, cacheWrite: 0, total: 0.3 }
    },
    stopReason: "stop",
    timestamp: 2,
    ...more
  })

export const result = (toolCallId: string, content: string, toolName = "bash", more: JsonObject = {}): JsonObject =>
  message({ role: "toolResult", toolCallId, toolName, content: [text(content)], isError: false, timestamp: 3, ...more })

export const extract = (text: string): ExtractedSession =>
  SessionTurns.extract(Session.readText(text), {
    sourcePath: "/sessions/s1.jsonl",
    role: { role: "unknown", roleSource: "none" }
  })

/** The samples of all branches. */
export const samples = (text: string): ReadonlyArray<TrainingSample> =>
  SampleCut.cut(Session.readText(text), {
    sourcePath: "/sessions/s1.jsonl",
    role: { role: "unknown", roleSource: "none" },
    branches: "all"
  }).samples

/** The first sample. */
export const sample = (text: string): TrainingSample => {
  const [first] = samples(text)
  if (first === undefined) throw new Error("a session without a sample")
  return first
}

/** The role, content, calls and results of turns. */
export const brief = (session: ExtractedSession) =>
  session.turns.map(({ content, role, tool_calls, tool_results }) => ({
    role,
    content,
    ...(tool_calls.length === 0 ? {} : { calls: tool_calls.map((call) => call.id) }),
    ...(tool_results.length === 0 ? {} : { results: tool_results.map((r) => [r.tool_call_id, r.content] as const) })
  }))
