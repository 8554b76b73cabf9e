/** Rounds of kill -9 of a real writer, and the expected entries, which follow from their numbers. */
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { Effect } from "effect"
import * as Stream from "effect/Stream"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionStore } from "../../src/SessionStore.ts"
import * as StoreVerify from "../../src/StoreVerify.ts"
import * as sessions from "./sessions.ts"

export const sessionId = "killed"
export const header = sessions.headerLine(sessionId)

/** Entry `n`, the same each time, up to some kilobytes long. */
export const entryOf = (n: number): SessionEntry =>
  sessions.entryLine(`n${n}`, n === 1 ? null : `n${n - 1}`, {
    text: "t".repeat((n * 7919) % (n % 10 === 0 ? 6000 : 300))
  })

/** The session's file with its first `count` entries. */
export const fileOf = (count: number): Buffer =>
  sessions.fileOf(
    header,
    Array.from({ length: count }, (_, at) => entryOf(at + 1))
  )

export const sourceOf = (directory: string): string => Path.join(directory, "2026-01-05T10-00-00-000Z_killed.jsonl")

export interface Killed {
  /** The highest number that was acknowledged; 0 for none. */
  readonly acknowledged: number
  readonly moves: number
}

/** Starts a writer and kills it `ms` milliseconds after it printed so many lines. */
export const killAfter = (directory: string, mode: "append" | "move", seed: number, lines: number, ms: number) =>
  Effect.promise(
    () =>
      new Promise<Killed>((resolve, reject) => {
        const script = Path.join(import.meta.dirname, "crashWriter.ts")
        const child = ChildProcess.spawn(process.execPath, [script, directory, mode, String(seed)], {
          stdio: ["ignore", "pipe", "pipe"]
        })
        let out = ""
        let errors = ""
        let isKilled = false
        let isWaiting = true
        child.stderr.on("data", (chunk) => (errors += String(chunk)))
        child.stdout.on("data", (chunk) => {
          out += String(chunk)
          if (!isWaiting || out.split("\n").length <= lines) return
          isWaiting = false
          setTimeout(() => {
            isKilled = true
            child.kill("SIGKILL")
          }, ms)
        })
        child.on("error", reject)
        child.on("close", () => {
          if (!isKilled) return reject(new Error(`the writer ended by itself: ${errors}`))
          const acknowledged = [...out.matchAll(/^ack ([0-9]+)$/gm)].map(([, n]) => Number(n))
          const moves = [...out.matchAll(/^(migrated|rolled back)$/gm)].length
          return resolve({ acknowledged: Math.max(0, ...acknowledged), moves })
        })
      })
  )

/** Number of entries in the active store; fails when they are not the first ones. */
export const heldIn = Effect.fnUntraced(function* (directory: string) {
  const location = { directory, sessionId }
  const store = yield* SessionStore
  const active = yield* store.active(location)
  if (active === undefined && !Fs.existsSync(sourceOf(directory))) return 0
  let bytes: Buffer
  if (active?.active === "native_v2") {
    const reader = yield* store.reader(location)
    bytes = Buffer.concat((yield* Stream.runCollect(reader.payloads)).flat())
  } else bytes = Fs.readFileSync(active === undefined ? sourceOf(directory) : Path.join(directory, active.path))
  const count = bytes.toString("latin1").split("\n").length - 2
  if (!bytes.equals(fileOf(count))) return yield* Effect.die(new Error(`the session is not its first ${count} entries`))
  return count
}, Effect.scoped)

/** Opens the active container for writing, and verifies it. Returns the repairs. */
export const reopen = Effect.fnUntraced(function* (directory: string) {
  const location = { directory, sessionId }
  const store = yield* SessionStore
  const active = yield* store.active(location)
  if (active === undefined) return []
  const repairs = yield* Effect.scoped(Effect.map(store.writer(location), (writer) => writer.repairs)).pipe(
    Effect.catchTag("StoreNotActive", () => Effect.succeed<ReadonlyArray<string>>([]))
  )
  // A migration that is killed between its two renames leaves the file active and no container.
  const isThere = Fs.existsSync(Path.join(directory, `${sessionId}.v2`))
  if (!isThere && active.active !== "native_v2") return repairs
  const { findings } = yield* store.verify(location)
  const [first] = findings
  if (first !== undefined) return yield* Effect.die(new Error(StoreVerify.format(first)))
  return repairs
})
