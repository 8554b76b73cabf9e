/** Sessions for tests: the repository's fixtures, walks of the real Pis, and small ones written by hand. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Effect, type Scope } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import type * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as settings from "./settings.ts"

/** A session file by name. */
export interface Sample {
  readonly name: string
  readonly bytes: Buffer
}

const FIXTURES = Path.resolve(import.meta.dirname, "../../../../fixtures")

/** All `.jsonl` files below a folder, in order. */
export const below = (directory: string): ReadonlyArray<Sample> =>
  Fs.readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .map((name) => ({ name, bytes: Fs.readFileSync(Path.join(directory, name)) }))

/** The version in a session's first line; undefined when that is no header. */
export const versionOf = (bytes: Buffer): unknown => {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8").split("\n", 1)[0] ?? "")
    return typeof value === "object" && value !== null && "version" in value ? value.version : undefined
  } catch {
    return undefined
  }
}

export const fixtures = (): ReadonlyArray<Sample> => below(Path.join(FIXTURES, "sessions"))
export const damaged = (): ReadonlyArray<Sample> => below(Path.join(FIXTURES, "damaged"))
export const corpus = (): ReadonlyArray<Sample> => (settings.corpus === undefined ? [] : below(settings.corpus))

/** The session files of walks through a real Pi, forks included. */
export const walks = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion,
  count: number,
  steps = 40
): Effect.fn.Return<ReadonlyArray<Sample>, never, Scope.Scope> {
  const root = yield* memoryFolder
  const samples: Array<Sample> = []
  for (const seed of settings.seeds(count)) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps, dir, cwd: "/srv/project" }))
    for (const [at, file] of walk.files.entries()) {
      samples.push({ name: `Pi ${version}, seed ${seed}, file ${at + 1}`, bytes: Fs.readFileSync(file) })
    }
  }
  return samples
})

export const timestamp = "2026-01-05T10:00:00.000Z"

export const headerLine = (id = "s1"): HeaderLine =>
  HeaderLine.make({ type: "session", version: 3, id, timestamp, cwd: "/work" })

export const entryLine = (id: string, parentId: string | null, more: JsonObject = {}): SessionEntry =>
  SessionEntry.make({ type: "custom", id, parentId, timestamp, customType: "note", ...more })

/** A chain of small entries `e1` to `e<count>`. */
export const chain = (count: number, more: JsonObject = {}): ReadonlyArray<SessionEntry> =>
  Array.from({ length: count }, (_, at) => entryLine(`e${at + 1}`, at === 0 ? null : `e${at}`, { n: at, ...more }))

export const user = (id: string, parentId: string | null, text = id): SessionEntry =>
  SessionEntry.make({
    type: "message",
    id,
    parentId,
    timestamp,
    message: { role: "user", content: text, timestamp: 1 }
  })

export const assistant = (id: string, parentId: string | null, text = id): SessionEntry =>
  SessionEntry.make({
    type: "message",
    id,
    parentId,
    timestamp,
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      api: "openai-completions",
      provider: "fake",
      model: "fake-1",
      usage: {},
      stopReason: "stop",
      timestamp: 2
    }
  })

/** A file as Pi writes it. */
export const fileOf = (header: HeaderLine, entries: ReadonlyArray<SessionEntry>): Buffer =>
  Buffer.from([header.text, ...entries.map((entry) => entry.text)].map((line) => `${line}\n`).join(""))
