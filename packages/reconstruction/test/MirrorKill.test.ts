/**
 * Kill -9 of a mirror's process, and of the program that appends to the session file, at random moments.
 * `PI_SESSIONS_KILLS` sets the number of kills.
 */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as Dose from "@pi-sessions/testing/Dose"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Mirror } from "../src/Mirror.ts"
import { ThreadSink } from "../src/ThreadSink.ts"
import { ThreadSource } from "../src/ThreadSource.ts"

const KILLS = Dose.of("PI_SESSIONS_KILLS", { test: 1, campaign: 60 })
const SEED = Dose.firstSeed()
const SESSION = "0195aaaa-0000-7000-8000-000000000001"
const THREAD = "th_kill"

const program = (name: string) => Path.resolve(import.meta.dirname, "support", name)

/** Starts a program that the test kills. */
const start = (name: string, args: ReadonlyArray<string>) => {
  const child: ChildProcess = spawn(process.execPath, [program(name), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] ?? "" }
  })
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()))
  const opened = new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()))
  return {
    opened: Promise.race([opened, gone]),
    /** False when the program had ended before. */
    kill: async () => {
      const alive = child.exitCode === null
      child.kill("SIGKILL")
      await gone
      return alive
    }
  }
}

/** The whole lines of a file, as latin1. */
const wholeLines = (file: string): ReadonlyArray<string> => Fs.readFileSync(file, "latin1").split("\n").slice(0, -1)

interface Entry {
  readonly id: string
  readonly type: string
  readonly payload: {
    readonly generation: number
    readonly seq?: number
    readonly line?: string
    readonly lineBase64?: string
    readonly sha256: string
  }
}

/** The session's lines in the thread without repeated entries, and the number of repeated and torn ones. */
const linesInThread = (file: string) => {
  const seen = new Set<string>()
  let repeated = 0
  let torn = 0
  const lines: Array<string> = []
  for (const text of Fs.existsSync(file) ? Fs.readFileSync(file, "utf8").split("\n") : []) {
    if (text === "") continue
    let entry: Entry
    try {
      entry = JSON.parse(text)
    } catch {
      torn++
      continue
    }
    if (seen.has(entry.id)) {
      repeated++
      continue
    }
    seen.add(entry.id)
    if (entry.type !== "pi.session_header" && entry.type !== "pi.session_entry") continue
    const { generation, line, lineBase64, seq = 0, sha256 } = entry.payload
    const bytes = lineBase64 === undefined ? Buffer.from(line ?? "") : Buffer.from(lineBase64, "base64")
    assert.deepStrictEqual([generation, seq], [0, lines.length], "once and in order")
    assert.strictEqual(sha256, createHash("sha256").update(bytes).digest("hex"))
    lines.push(bytes.toString("latin1"))
  }
  return { lines, repeated, torn }
}

describe("a mirror in its own process", () => {
  it.live(
    "after kill -9 at any moment, the next start completes the thread: every whole line once and in order",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const file = Path.join(directory, "s.jsonl")
      const threads = Path.join(directory, "threads")
      const thread = Path.join(threads, `${THREAD}.jsonl`)
      const state = Path.join(directory, "state")
      Fs.writeFileSync(file, `{"type":"session","version":3,"id":"${SESSION}","cwd":"/"}\n`)
      const random = SeededRandom.make(SEED)

      /** The next start, in process: sends all lines of the file. */
      const recover = Effect.gen(function* () {
        const mirror = yield* Mirror
        yield* mirror.open({ file, sessionId: SESSION, threadId: THREAD, fallbackThreadId: THREAD, fresh: false })
        assert.isTrue(yield* mirror.flush("1 minute"), `PI_SESSIONS_SEED=${SEED}`)
      }).pipe(
        Effect.provide(
          Mirror.layer({ sinkName: threads, stateDirectory: state }).pipe(
            Layer.provide([ThreadSink.layerDirectory(threads), ThreadSource.layerDirectory(threads)]),
            Layer.provide(NodeServices.layer)
          ),
          { local: true }
        )
      )

      const check = (round: number, atLeast: number) => {
        try {
          const { lines, ...counts } = linesInThread(thread)
          const whole = wholeLines(file)
          assert.isAtLeast(lines.length, atLeast, "lines in the thread")
          assert.deepStrictEqual(lines, whole.slice(0, lines.length))
          return { ...counts, lines: lines.length, whole: whole.length }
        } catch (error) {
          throw new Error(`round ${round} of PI_SESSIONS_SEED=${SEED}`, { cause: error })
        }
      }

      const append = (round: number) => start("appendForever.ts", [file, `${SEED + round}`])
      let appending = append(0)
      let behind = 0
      let appendersKilled = 0
      try {
        for (let round = 0; round < KILLS; round++) {
          const mirror = start("mirrorAlone.ts", [file, SESSION, THREAD, threads, state])
          yield* Effect.promise(async () => {
            // Most kills come after the start, although starting takes most of the time.
            if (random.chance(0.15)) await sleep(random.int(500))
            else {
              await mirror.opened
              await sleep(random.int(150))
            }
            if (random.chance(0.3)) {
              await appending.kill()
              appendersKilled++
              appending = append(round + 1)
            }
            assert.isTrue(await mirror.kill(), `PI_SESSIONS_SEED=${SEED}: the mirror had ended before`)
          })
          const left = check(round, 0)
          if (left.lines < left.whole) behind++
          // Otherwise the next program must send what is missing.
          if (random.chance(0.7)) {
            yield* recover
            check(round, left.whole)
          }
        }
      } finally {
        yield* Effect.promise(async () => {
          // On a slow machine the program may not have appended anything yet.
          while (wholeLines(file).length < 3) await sleep(10)
          await appending.kill()
        })
      }
      yield* recover
      const { lines, repeated, torn, whole } = check(KILLS, wholeLines(file).length)
      assert.strictEqual(lines, whole)
      process.stdout.write(
        `kill -9 of the mirror's process: ${KILLS} rounds (seed ${SEED}), ${behind} of them with lines not sent yet, ` +
          `${appendersKilled} kills of the writer; ${lines} of ${whole} whole lines in the thread, each once and in order ` +
          `(${repeated} came twice, ${torn} torn lines passed over)\n`
      )
    })
  )
})
