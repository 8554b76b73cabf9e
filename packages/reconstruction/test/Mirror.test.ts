/** The mirror with a server in memory: order, failures, restarts, several machines. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as LosslessHydration from "../src/hydrate/LosslessHydration.ts"
import { Mirror } from "../src/Mirror.ts"
import * as ThreadReader from "../src/ThreadReader.ts"
import { ThreadSink, ThreadSinkError } from "../src/ThreadSink.ts"
import { ThreadSource, ThreadUnavailable } from "../src/ThreadSource.ts"

/** How the server treats the next batches. */
type Mood = "well" | "unreachable" | "refuses" | "hangs" | "loses its answer"

/** A server in memory, which stores every id once. */
class Server {
  mood: Mood = "well"
  batches = 0
  /** Number of whole reads of a thread. */
  reads = 0
  readonly threads: Map<string, Map<string, JsonObject>>

  constructor(threads = new Map<string, Map<string, JsonObject>>()) {
    this.threads = threads
  }

  entries(threadId = "th"): ReadonlyArray<JsonObject> {
    return [...(this.threads.get(threadId)?.values() ?? [])]
  }

  types(threadId = "th"): ReadonlyArray<string | undefined> {
    return this.entries(threadId).map((entry) => stringAt(entry, "type"))
  }

  readonly layer = Layer.mergeAll(
    Layer.succeed(
      ThreadSink,
      ThreadSink.of({
        append: (threadId, entries) =>
          Effect.suspend(() => {
            this.batches++
            const fail = (reason: string, retryable: boolean) =>
              Effect.fail(new ThreadSinkError({ threadId, reason, remedy: "Look at it", retryable }))
            if (this.mood === "unreachable") return fail("no answer", true)
            if (this.mood === "refuses") return fail("HTTP 401", false)
            if (this.mood === "hangs") return Effect.never
            const held = this.threads.get(threadId) ?? new Map<string, JsonObject>()
            this.threads.set(threadId, held)
            const fresh = entries.filter((entry) => !held.has(stringAt(entry, "id") ?? ""))
            for (const entry of fresh) held.set(stringAt(entry, "id") ?? "", entry)
            if (this.mood === "loses its answer") return fail("the connection broke off", true)
            return Effect.succeed({ accepted: fresh.length, repeated: entries.length - fresh.length })
          })
      })
    ),
    Layer.succeed(
      ThreadSource,
      ThreadSource.of({
        thread: (ref) => {
          this.reads++
          const lines = this.entries(ref).map((entry) => `${JSON.stringify(entry)}\n`)
          return this.threads.has(ref)
            ? Effect.succeed(ThreadReader.read([Buffer.from(lines.join(""))], ref))
            : Effect.fail(new ThreadUnavailable({ ref, why: "absent", reason: "no such thread", remedy: "" }))
        }
      })
    )
  )
}

const header = (id: string) => `{"type":"session","version":3,"id":"${id}","cwd":"/"}\n`
const user = (id: string, text: string) =>
  `${JSON.stringify({ type: "message", id, parentId: null, message: { role: "user", content: text } })}\n`
const assistant = (id: string, text: string) =>
  `${JSON.stringify({ type: "message", id, parentId: null, message: { role: "assistant", content: [{ type: "text", text }], timestamp: 1 } })}\n`

/** The mirror's reports. */
const reports: Array<string> = []

/** Runs a mirror from start to end. */
const mirroring = <A, E>(
  server: Server,
  directory: string,
  use: (mirror: Mirror["Service"]) => Effect.Effect<A, E>,
  name = "state"
) =>
  Effect.flatMap(Mirror, use).pipe(
    Effect.provide(
      Mirror.layer({
        sinkName: "memory",
        stateDirectory: Path.join(directory, name),
        interval: "10 millis",
        backoff: "1 millis",
        longestBackoff: "5 millis",
        report: (kind, message) => Effect.sync(() => reports.push(`${kind}: ${message}`))
      }).pipe(Layer.provide(server.layer), Layer.provide(NodeServices.layer)),
      { local: true }
    )
  )

const session = (file: string, sessionId = "s1", fresh = false) => ({
  file,
  sessionId,
  threadId: "th",
  fallbackThreadId: "th",
  fresh
})

/** Opens a session, sends its lines, and ends. */
const mirrorOnce = (server: Server, directory: string, file: string, name?: string) =>
  mirroring(
    server,
    directory,
    Effect.fnUntraced(function* (mirror) {
      yield* mirror.open(session(file))
      return yield* mirror.flush("1 minute")
    }),
    name
  )

/** The file, hydrated from the thread. */
const hydrated = (server: Server, sessionId = "s1"): string => {
  const lines = server.entries().map((entry) => `${JSON.stringify(entry)}\n`)
  const lineage = LosslessHydration.choose(ThreadReader.read([Buffer.from(lines.join(""))], "th"), sessionId)
  if (lineage === undefined) return ""
  assert.deepStrictEqual(LosslessHydration.gaps(lineage), [])
  return Buffer.from(Session.toBytes(LosslessHydration.assemble(lineage, undefined))).toString("utf8")
}

const generations = (server: Server) => [
  ...new Set(server.entries().flatMap((entry) => objectAt(entry, "payload")?.["generation"] ?? []))
]

const context = (systemPrompt: string) => ({ systemPrompt, tools: [], afterEntryId: "u1" })

describe("Mirror", () => {
  it.live(
    "sends chunks before the answer that they belong to",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          assert.strictEqual(yield* mirror.open(session(file, "s1", true)), "th")
          yield* mirror.requestContext(context("be good"))
          yield* mirror.requestContext(context("be good"))
          yield* mirror.delta("m1", { type: "thinking", text: "hm", contentIndex: 0 })
          yield* mirror.delta("m1", { type: "text", text: "he", contentIndex: 1 })
          yield* mirror.delta("m1", { type: "text", text: "llo", contentIndex: 1 })
          Fs.writeFileSync(file, header("s1") + user("u1", "hi") + assistant("a1", "hello"))
          assert.isTrue(yield* mirror.flush("1 minute"))
        })
      )
      assert.deepStrictEqual(server.types().toSorted(), [
        "pi.assistant",
        "pi.chunk",
        "pi.chunk",
        "pi.request_context",
        "pi.session_entry",
        "pi.session_entry",
        "pi.session_header"
      ])
      assert.isBelow(server.types().lastIndexOf("pi.chunk"), server.types().indexOf("pi.assistant"))
      const chunks = server.entries().filter(({ type }) => type === "pi.chunk")
      assert.deepStrictEqual(
        chunks.map((entry) => objectAt(objectAt(entry, "payload") ?? {}, "delta")),
        [
          { type: "thinking", text: "hm", contentIndex: 0 },
          { type: "text", text: "hello", contentIndex: 1 }
        ]
      )
    })
  )

  it.live(
    "keeps everything but chunks while the thread is unreachable, and sends it at the next start",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      const written = header("s1") + user("u1", "hi") + assistant("a1", "hello")
      server.mood = "unreachable"
      reports.length = 0
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(session(file, "s1", true))
          yield* mirror.requestContext(context("be good"))
          yield* mirror.delta("m1", { type: "text", text: "he", contentIndex: 0 })
          Fs.writeFileSync(file, written)
          for (let round = 0; round < 5; round++) assert.isFalse(yield* mirror.flush("1 minute"))
        })
      )
      assert.strictEqual(reports.length, 1)
      assert.match(reports[0] ?? "", /^warning: .*no answer/)
      server.mood = "well"
      const other = Path.join(directory, "other.jsonl")
      Fs.writeFileSync(other, header("s2") + user("u2", "another"))
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(session(other, "s2"))
          assert.isTrue(yield* mirror.flush("1 minute"))
        })
      )
      assert.strictEqual(server.types()[0], "pi.request_context")
      assert.notInclude(server.types(), "pi.chunk")
      assert.strictEqual(hydrated(server), written)
      assert.strictEqual(hydrated(server, "s2"), header("s2") + user("u2", "another"))
    })
  )

  it.live(
    "stops when the thread refuses, reports it once, and continues at the next start",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, header("s1") + user("u1", "hi"))
      server.mood = "refuses"
      reports.length = 0
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(session(file))
          for (let round = 0; round < 5; round++) assert.isFalse(yield* mirror.flush("1 minute"))
          Fs.appendFileSync(file, assistant("a1", "hello"))
          assert.isFalse(yield* mirror.flush("1 minute"))
        })
      )
      assert.strictEqual(server.batches, 1)
      assert.strictEqual(reports.length, 1)
      assert.match(reports[0] ?? "", /^error: .*HTTP 401.*Mirroring has stopped/)
      server.mood = "well"
      assert.isTrue(yield* mirrorOnce(server, directory, file))
      assert.strictEqual(hydrated(server), Fs.readFileSync(file, "utf8"))
    })
  )

  it.live(
    "does not block when the sink never answers",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, header("s1"))
      server.mood = "hangs"
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(session(file))
          assert.isFalse(yield* mirror.flush("20 millis"))
        })
      )
    })
  )

  it.live(
    "sends again what may have arrived, and the thread has it once",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, header("s1") + user("u1", "hi"))
      server.mood = "loses its answer"
      assert.isFalse(yield* mirrorOnce(server, directory, file))
      Fs.appendFileSync(file, assistant("a1", "hello"))
      server.mood = "well"
      assert.isTrue(yield* mirrorOnce(server, directory, file))
      Fs.appendFileSync(file, user("u2", "more"))
      // Without state, as in a new sandbox.
      assert.isTrue(yield* mirrorOnce(server, directory, file, "lost-state"))
      assert.strictEqual(hydrated(server), Fs.readFileSync(file, "utf8"))
      assert.deepStrictEqual(generations(server), [0])
      assert.strictEqual(server.entries().length, 5)
    })
  )

  it.live(
    "loses nothing when two machines continue one session",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const here = Path.join(directory, "here.jsonl")
      const there = Path.join(directory, "there.jsonl")
      Fs.writeFileSync(here, header("s1") + user("u1", "hi"))
      assert.isTrue(yield* mirrorOnce(server, directory, here, "here"))
      Fs.copyFileSync(here, there)
      assert.isTrue(yield* mirrorOnce(server, directory, there, "there"))
      Fs.appendFileSync(here, assistant("a1", "said here"))
      assert.isTrue(yield* mirrorOnce(server, directory, here, "here"))
      Fs.appendFileSync(there, assistant("b1", "said there"))
      assert.isTrue(yield* mirrorOnce(server, directory, there, "there"))
      assert.strictEqual(hydrated(server), Fs.readFileSync(there, "utf8"))
      assert.deepStrictEqual(generations(server), [0, 1])
      const text = JSON.stringify(server.entries())
      for (const words of ["said here", "said there"]) assert.include(text, words)
    })
  )

  it.live(
    "loses nothing when another machine continued while this one could not reach the thread",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const here = Path.join(directory, "here.jsonl")
      const there = Path.join(directory, "there.jsonl")
      Fs.writeFileSync(here, header("s1") + user("u1", "hi"))
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(session(here))
          assert.isTrue(yield* mirror.flush("1 minute"))
          Fs.copyFileSync(here, there)
          server.mood = "unreachable"
          Fs.appendFileSync(here, assistant("a1", "said here"))
          assert.isFalse(yield* mirror.flush("1 minute"))
          // The same threads, now reachable.
          Fs.appendFileSync(there, assistant("b1", "said there"))
          assert.isTrue(yield* mirrorOnce(new Server(server.threads), directory, there, "there"))
          server.mood = "well"
          assert.isTrue(yield* mirror.flush("1 minute"))
        }),
        "here"
      )
      assert.strictEqual(hydrated(server), Fs.readFileSync(here, "utf8"))
      assert.deepStrictEqual(generations(server), [0, 1])
      assert.include(JSON.stringify(server.entries()), "said there")
    })
  )

  it.live(
    "reads the thread only when its record does not show where to continue",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      const state = Path.join(directory, "state")
      const once = (fresh: boolean) =>
        mirroring(
          server,
          directory,
          Effect.fnUntraced(function* (mirror) {
            yield* mirror.open(session(file, "s1", fresh))
            assert.isTrue(yield* mirror.flush("1 minute"))
            return server.reads
          })
        )
      Fs.writeFileSync(file, header("s1") + user("u1", "hi"))
      assert.strictEqual(yield* once(true), 0, "a session that has just begun")
      Fs.appendFileSync(file, assistant("a1", "hello"))
      Fs.cpSync(state, `${state}-before`, { recursive: true })
      assert.strictEqual(yield* once(false), 0, "a restart")
      assert.strictEqual(yield* once(false), 0, "a restart with nothing new")

      // The state after a kill between the sink's answer and the record.
      Fs.rmSync(state, { recursive: true })
      Fs.renameSync(`${state}-before`, state)
      assert.strictEqual(yield* once(false), 1, "what it sends is there already")
      assert.strictEqual(yield* once(false), 1, "and now it knows")

      Fs.rmSync(state, { recursive: true })
      assert.strictEqual(yield* once(false), 2, "no record")
      assert.strictEqual(hydrated(server), Fs.readFileSync(file, "utf8"))
      assert.deepStrictEqual(generations(server), [0])
      assert.strictEqual(server.entries().length, 4)
    })
  )

  it.live(
    "sends an entry of 20 MB, and mirrors without a state directory",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      const written = header("s1") + assistant("a1", "x".repeat(20 << 20)) + user("u1", "hi")
      Fs.writeFileSync(file, written)
      Fs.writeFileSync(Path.join(directory, "taken"), "")
      yield* mirroring(
        server,
        directory,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(session(file))
          yield* mirror.requestContext(context("be good"))
          assert.isTrue(yield* mirror.flush("1 minute"))
        }),
        "taken/state"
      )
      assert.isTrue(hydrated(server) === written)
      assert.include(server.types(), "pi.request_context")
    })
  )

  it.live(
    "gives the file back from a thread delivered twice and in any order, and detects a flipped byte",
    Effect.fnUntraced(function* () {
      const seed = Dose.firstSeed()
      const random = SeededRandom.make(seed)
      const directory = yield* temporaryFolder
      const server = new Server()
      const file = Path.join(directory, "s.jsonl")
      const written = header("s1") + Array.from({ length: 20 }, (_, n) => assistant(`a${n}`, `words ${n} é`)).join("")
      Fs.writeFileSync(file, written)
      assert.isTrue(yield* mirrorOnce(server, directory, file))
      const entries = server.entries()
      const lineageOf = (delivered: ReadonlyArray<JsonObject>) => {
        const lines = delivered.map((entry) => `${JSON.stringify(entry)}\n`)
        return LosslessHydration.choose(ThreadReader.read([Buffer.from(lines.join(""))], "th"), "s1")!
      }
      for (let round = 0; round < 20; round++) {
        const shuffled = [...entries, ...entries.filter(() => random.chance(0.5))]
          .map((entry) => ({ entry, key: random.next() }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ entry }) => entry)
        const lineage = lineageOf(shuffled)
        assert.deepStrictEqual(LosslessHydration.gaps(lineage), [], `seed ${seed}`)
        const bytes = Session.toBytes(LosslessHydration.assemble(lineage, undefined))
        assert.strictEqual(Buffer.from(bytes).toString("utf8"), written, `seed ${seed}`)

        const at = random.int(21)
        const flipped = shuffled.map((entry): JsonObject => {
          const payload = objectAt(entry, "payload") ?? {}
          if (typeof payload["line"] !== "string" || (payload["seq"] ?? 0) !== at) return entry
          const line = Buffer.from(payload["line"])
          const byte = random.int(line.length)
          line[byte] = (line[byte] ?? 0) ^ (1 << random.int(7))
          return { ...entry, payload: { ...payload, line: line.toString("utf8") } }
        })
        const damage = LosslessHydration.gaps(lineageOf(flipped)).join("; ")
        assert.match(damage, at === 0 ? /header/ : new RegExp(`\\b${at}\\b`), `seed ${seed}`)
      }
    })
  )

  it.live(
    "continues when another session's file becomes unreadable",
    Effect.fnUntraced(function* () {
      const directory = yield* temporaryFolder
      const server = new Server()
      const gone = Path.join(directory, "gone.jsonl")
      Fs.writeFileSync(gone, header("s2"))
      assert.isTrue(yield* mirrorOnce(server, directory, gone))
      Fs.rmSync(gone)
      Fs.mkdirSync(gone)
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, header("s1") + user("u1", "hi"))
      assert.isTrue(yield* mirrorOnce(server, directory, file))
      assert.strictEqual(hydrated(server), Fs.readFileSync(file, "utf8"))
    })
  )
})
