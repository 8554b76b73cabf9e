/** Small sessions written by hand, and the fixtures. */
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as Fs from "node:fs"
import * as Path from "node:path"

export const timestamp = "2026-01-05T10:00:00.000Z"

export const header: JsonObject = { type: "session", version: 3, id: "s1", timestamp, cwd: "/work" }

export const entry = (type: string, id: string, parentId: string | null, payload: JsonObject = {}): JsonObject => ({
  type,
  id,
  parentId,
  timestamp,
  ...payload
})

export const message = (id: string, parentId: string | null, message: JsonObject): JsonObject =>
  entry("message", id, parentId, { message })

export const user = (id: string, parentId: string | null, content: string = id): JsonObject =>
  message(id, parentId, { role: "user", content })

export const assistant = (
  id: string,
  parentId: string | null,
  content: ReadonlyArray<JsonObject> = [{ type: "text", text: id }],
  more: JsonObject = {}
): JsonObject =>
  message(id, parentId, { role: "assistant", content, provider: "fake", model: "fake-1", stopReason: "stop", ...more })

/** A session of the current version with the given entries. */
export const session = (...entries: ReadonlyArray<JsonObject>): Session.Session =>
  Session.readText([header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""))

const root = Path.join(import.meta.dirname, "..", "..", "..", "..", "fixtures")

export const fixture = (name: string): Session.Session => Session.read(Fs.readFileSync(Path.join(root, name)))

/** All session fixtures with their paths below the folder. */
export const fixtures = (): ReadonlyArray<readonly [name: string, session: Session.Session]> =>
  Fs.readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl") && !name.startsWith("threads"))
    .sort()
    .map((name) => [name, fixture(name)] as const)
