/**
 * Kill -9 of the built server while a mirror sends it a growing session file. The mirror keeps running and sends again
 * what the server did not acknowledge. `PI_SESSIONS_KILLS` sets the number of kills.
 */
import { assert, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as FileSystem from "node:fs"
import * as Net from "node:net"
import * as Path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Mirror } from "@pi-sessions/reconstruction/Mirror"
import { ThreadSink } from "@pi-sessions/reconstruction/ThreadSink"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import * as Dose from "@pi-sessions/testing/Dose"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type ServerProcess, start } from "./support/serverProcess.ts"

const KILLS = Dose.of("PI_SESSIONS_KILLS", { test: 1, campaign: 40 })
const SEED = Dose.firstSeed()
const TOKEN = "tok-5ecret-5ecret"
const SESSION = "0195aaaa-0000-7000-8000-000000000001"
const THREAD = "th_kill"

/** A free port for several starts, below the range from which the system assigns ports to other programs. */
const freePort = async (random: SeededRandom.SeededRandom): Promise<number> => {
  for (;;) {
    const port = 20_000 + random.int(10_000)
    const free = await new Promise<boolean>((resolve) => {
      const server = Net.createServer()
        .once("error", () => resolve(false))
        .listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
    })
    if (free) return port
  }
}

/** The session's lines on the server, and the number of ids that it returns twice. */
const linesAt = async (url: string) => {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const lines: Array<string> = []
  const seen = new Set<string>()
  let twice = 0
  for (let after = "0"; ;) {
    const response = await fetch(`${url}/threads/${THREAD}/entries?after=${after}`, { headers })
    if (response.status === 404) return { lines, twice }
    const page: {
      readonly entries: ReadonlyArray<{
        readonly id: string
        readonly type: string
        readonly payload: { readonly generation: number; readonly seq?: number; readonly line: string }
      }>
      readonly next: string | null
    } = JSON.parse(await response.text())
    for (const { id, payload, type } of page.entries) {
      if (seen.has(id)) twice++
      seen.add(id)
      if (type !== "pi.session_header" && type !== "pi.session_entry") continue
      assert.deepStrictEqual([payload.generation, payload.seq ?? 0], [0, lines.length], "once and in order")
      lines.push(payload.line)
    }
    if (page.next === null) return { lines, twice }
    after = page.next
  }
}

it.live(
  "a mirror sends every whole line once and in order to a server that is killed at any moment",
  Effect.fnUntraced(function* () {
    const directory = yield* temporaryFolder
    const file = Path.join(directory, "s.jsonl")
    const db = Path.join(directory, "threads.sqlite")
    FileSystem.writeFileSync(file, `{"type":"session","version":3,"id":"${SESSION}","cwd":"/"}\n`)
    const random = SeededRandom.make(SEED)
    const port = yield* Effect.promise(() => freePort(random))
    const url = `http://127.0.0.1:${port}`
    // A request to a killed server may stay without any answer until the timeout.
    const http = { url, token: Redacted.make(TOKEN), retries: 0, timeout: "2 seconds" } as const
    let reports = ""
    const layer = Mirror.layer({
      sinkName: "server",
      stateDirectory: Path.join(directory, "state"),
      interval: "4 millis",
      backoff: "5 millis",
      longestBackoff: "50 millis",
      maxLines: 5,
      report: (kind, message) =>
        Effect.sync(() => {
          reports += `${kind}: ${message}\n`
        })
    }).pipe(
      Layer.provide(Layer.merge(ThreadSink.layerHttp(http), ThreadSource.layerHttp(http))),
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(NodeServices.layer)
    )
    yield* Effect.gen(function* () {
      const mirror = yield* Mirror
      yield* mirror.open({ file, sessionId: SESSION, threadId: THREAD, fallbackThreadId: THREAD, fresh: true })
      yield* Effect.promise(async () => {
        let written = 1
        const append = () => {
          const id = `e${written++}`
          const text = "words é🧪\u2028 ".repeat(random.chance(0.02) ? random.int(20_000) : random.int(30))
          const message = { role: "assistant", content: [{ type: "text", text }], usage: {}, timestamp: written }
          FileSystem.appendFileSync(file, `${JSON.stringify({ type: "message", id, parentId: null, message })}\n`)
        }
        const appending = setInterval(append, 10)
        let server: ServerProcess | undefined
        let behind = 0
        let output = ""
        try {
          for (let round = 0; round < KILLS; round++) {
            server = await start(db, TOKEN, port)
            // Counted in lines, so that slow machines are killed at the same point.
            const enough = (await linesAt(server.url)).lines.length + 1 + random.int(20)
            while ((await linesAt(server.url)).lines.length < enough) await sleep(random.int(20))
            await server.kill()
            output += server.output()
            // Sometimes there is no server for a while.
            if (random.chance(0.3)) await sleep(random.int(100))
          }
          server = await start(db, TOKEN, port)
          behind = written - (await linesAt(server.url)).lines.length
          clearInterval(appending)
          for (let attempt = 0; attempt < 20 && !(await Effect.runPromise(mirror.flush("1 minute"))); attempt++);
          const { lines, twice } = await linesAt(server.url)
          const whole = FileSystem.readFileSync(file, "utf8").split("\n").slice(0, -1)
          assert.deepStrictEqual(lines, whole)
          assert.strictEqual(twice, 0)
          assert.notInclude(reports + output, TOKEN)
          assert.notInclude(reports, "error:")
          process.stdout.write(
            `kill -9 of the server under a mirror: ${KILLS} rounds (seed ${SEED}), ${lines.length} of ${whole.length} ` +
              `whole lines in the thread, each once and in order (${behind} behind after the last kill)\n`
          )
        } catch (error) {
          throw new Error(`PI_SESSIONS_SEED=${SEED}: ${reports}`, { cause: error })
        } finally {
          clearInterval(appending)
          await server?.kill()
        }
      })
    }).pipe(Effect.provide(layer))
  })
)
