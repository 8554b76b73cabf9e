/** Appending to files, directories and servers. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, PlatformError, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { NodeServices } from "@effect/platform-node"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { inspect } from "node:util"
import { type JsonObject } from "@pi-sessions/core/Json"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { fileName } from "../src/thread/ThreadFile.ts"
import { type HttpOptions, ThreadSink, ThreadSinkError } from "../src/ThreadSink.ts"
import { ThreadSource } from "../src/ThreadSource.ts"
import * as FaultyServer from "./support/FaultyServer.ts"

const { chat, json } = FaultyServer
const TOKEN = "tok-5ecret-5ecret"

/** A new sink, as in a program that just started. */
const fileSink = (path: string) =>
  ThreadSink.pipe(Effect.provide(ThreadSink.layerFile(path).pipe(Layer.provide(NodeServices.layer))))

const line = (entry: JsonObject) => `${JSON.stringify(entry)}\n`
const temporaryFile = Effect.map(temporaryFolder, (folder) => Path.join(folder, "a/b/thread.jsonl"))

describe("ThreadSink to a file", () => {
  it.effect("appends whole lines in order, each id once, also after a restart", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFile
      const odd = { id: "odd", type: "pi.future_kind", "naïve 🦄": [1.5, null, { "\u2028": "\ud83d" }], big: 1e300 }
      const first = yield* fileSink(path)
      assert.deepStrictEqual(yield* first.append("th_1", [chat(1), odd, chat(1, "twice")]), {
        accepted: 2,
        repeated: 1
      })
      assert.deepStrictEqual(yield* first.append("th_1", [chat(2), chat(1)]), { accepted: 1, repeated: 1 })
      const second = yield* fileSink(path)
      assert.deepStrictEqual(yield* second.append("th_1", [chat(3), odd, chat(2)]), { accepted: 1, repeated: 2 })
      assert.deepStrictEqual(yield* second.append("th_1", []), { accepted: 0, repeated: 0 })
      assert.strictEqual(Fs.readFileSync(path, "utf8"), [chat(1), odd, chat(2), chat(3)].map(line).join(""))
    })
  )

  it.effect("keeps an entry of type session, which SessionReader takes for a header", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFile
      const entries = [{ id: "s1", type: "session" }, { id: "s2", type: "session" }, chat(1)]
      yield* Effect.flatMap(fileSink(path), (sink) => sink.append("th_1", entries))
      const again = yield* Effect.flatMap(fileSink(path), (sink) => sink.append("th_1", entries))
      assert.deepStrictEqual(again, { accepted: 0, repeated: 3 })
    })
  )

  it.effect("starts on a new line after a torn one, and deletes nothing", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFile
      const sink = yield* fileSink(path)
      yield* sink.append("th_1", [chat(1)])
      const before = Fs.readFileSync(path, "utf8")
      const torn = line(chat(2, "é🦄"))
      for (let length = 1; length < Buffer.byteLength(torn); length++) {
        const part = Buffer.from(torn).subarray(0, length)
        Fs.writeFileSync(path, Buffer.concat([Buffer.from(before), part]))
        const whole = length === Buffer.byteLength(torn) - 1
        const result = yield* Effect.flatMap(fileSink(path), (sink) =>
          sink.append("th_1", [chat(1), chat(2, "é🦄"), chat(3)])
        )
        // A line that lacks only its newline is whole.
        assert.deepStrictEqual(result, whole ? { accepted: 1, repeated: 2 } : { accepted: 2, repeated: 1 })
        const after = Fs.readFileSync(path)
        const expected = [Buffer.from(before), part, Buffer.from(`\n${whole ? "" : torn}${line(chat(3))}`)]
        assert.isTrue(after.equals(Buffer.concat(expected)), `torn at ${length}`)
        const thread = yield* Effect.flatMap(ThreadSource, (source) => source.thread(path)).pipe(
          Effect.provide(ThreadSource.layerFile.pipe(Layer.provide(NodeServices.layer)))
        )
        assert.deepStrictEqual(
          thread.entries.map(({ id }) => id),
          ["e1", "e2", "e3"]
        )
      }
    })
  )

  it.effect("notices what other processes appended, and a deleted file", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFile
      const [one, other] = [yield* fileSink(path), yield* fileSink(path)]
      yield* one.append("th_1", [chat(1)])
      assert.deepStrictEqual(yield* other.append("th_1", [chat(1), chat(2)]), { accepted: 1, repeated: 1 })
      assert.deepStrictEqual(yield* one.append("th_1", [chat(2), chat(3)]), { accepted: 1, repeated: 1 })
      Fs.rmSync(path)
      assert.deepStrictEqual(yield* one.append("th_1", [chat(3)]), { accepted: 1, repeated: 0 })
      assert.strictEqual(Fs.readFileSync(path, "utf8"), line(chat(3)))
    })
  )

  it.effect("appends concurrent batches one after another", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFile
      const sink = yield* fileSink(path)
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => [chat(n), chat(n + 1)]),
        (batch) => sink.append("th_1", batch),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(
        results.reduce((sum, { accepted }) => sum + accepted, 0),
        21
      )
      assert.strictEqual(Fs.readFileSync(path, "utf8").split("\n").length, 22)
    })
  )

  it.effect("acknowledges nothing that a failing disk took in part, and continues after it", () =>
    Effect.gen(function* () {
      for (const fault of ["write", "sync", "close"] as const) {
        const path = yield* temporaryFile
        let broken = true
        const layer = Layer.effect(
          FileSystem.FileSystem,
          Effect.map(FileSystem.FileSystem, (fs) => ({
            ...fs,
            open: (target: string, options?: Parameters<FileSystem.FileSystem["open"]>[1]) =>
              fs.open(target, options).pipe(
                Effect.map((file) => (broken && options?.flag === "a" ? breakFile(file, fault) : file)),
                Effect.tap(() =>
                  broken && fault === "close" && options?.flag === "a"
                    ? Effect.addFinalizer(() => Effect.die(diskFull("close")))
                    : Effect.void
                )
              )
          }))
        ).pipe(Layer.provideMerge(NodeServices.layer))
        Fs.mkdirSync(Path.dirname(path), { recursive: true })
        Fs.writeFileSync(path, "")
        const sink = yield* ThreadSink.pipe(Effect.provide(ThreadSink.layerFile(path).pipe(Layer.provide(layer))))
        if (fault === "close") {
          assert.deepStrictEqual(yield* sink.append("th_1", [chat(1)]), { accepted: 1, repeated: 0 })
          assert.strictEqual(Fs.readFileSync(path, "utf8"), line(chat(1)))
          continue
        }
        const error = yield* Effect.flip(sink.append("th_1", [chat(1), chat(2)]))
        assert.isTrue(error.retryable)
        assert.include(error.message, `cannot append to thread th_1: ${path} cannot be written`)
        broken = false
        // Those lines were never synced, so they are written again.
        assert.deepStrictEqual(yield* sink.append("th_1", [chat(1), chat(2)]), { accepted: 2, repeated: 0 })
        const all = line(chat(1)) + line(chat(2))
        const left = fault === "write" ? all.slice(0, 60) : all
        assert.strictEqual(Fs.readFileSync(path, "utf8"), `${left}\n${all}`)
      }
    })
  )

  it.effect("reports the problem, and whether it is retryable", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      Fs.writeFileSync(Path.join(folder, "file"), "")
      const fails = (path: string, entries: ReadonlyArray<JsonObject>) =>
        Effect.flatMap(fileSink(path), (sink) => Effect.flip(sink.append("th_1", entries)))
      assert.include((yield* fails(Path.join(folder, "file/x.jsonl"), [chat(1)])).message, "Check that its directory")
      assert.isFalse((yield* fails(folder, [chat(1)])).reason === "")
      for (const entry of [{ type: "chat" }, { id: 7, type: "chat" }, { id: "", type: "chat" }, { id: "e" }]) {
        const error = yield* fails(Path.join(folder, "x.jsonl"), [chat(1), entry])
        assert.include(error.message, "entry 2 of 2 has no id or no type")
        assert.isFalse(error.retryable)
      }
      assert.isFalse(Fs.existsSync(Path.join(folder, "x.jsonl")))
    })
  )
})

const diskFull = (method: string) =>
  PlatformError.systemError({ _tag: "Unknown", module: "FileSystem", method, description: "ENOSPC: disk full" })

/** A file that accepts 60 bytes, or accepts all and fails to sync. */
const breakFile = (file: FileSystem.File, fault: "write" | "sync" | "close"): FileSystem.File =>
  new Proxy(file, {
    get: (target, key) => {
      if (fault === "write" && key === "writeAll") {
        return (bytes: Uint8Array) =>
          Effect.andThen(target.writeAll(bytes.subarray(0, 60)), Effect.fail(diskFull("write")))
      }
      if (fault === "sync" && key === "sync") return Effect.fail(diskFull("sync"))
      return Reflect.get(target, key, target)
    }
  })

describe("ThreadSink to a directory", () => {
  it.effect("keeps each thread in its own file, for every id", () =>
    Effect.gen(function* () {
      const directory = Path.join(yield* temporaryFolder, "threads")
      const ids = ["th_1", "", ".", "..", "../x", "a/b", "a%2Fb", "C:\\x", "ü🦄", " ", "x".repeat(300), "x".repeat(301)]
      const sink = yield* ThreadSink.pipe(
        Effect.provide(ThreadSink.layerDirectory(directory).pipe(Layer.provide(NodeServices.layer)))
      )
      for (const id of ids) {
        yield* sink.append(id, [chat(1, id), chat(2)])
        assert.deepStrictEqual(yield* sink.append(id, [chat(2), chat(3)]), { accepted: 1, repeated: 1 })
      }
      const names = Fs.readdirSync(directory)
      assert.strictEqual(names.length, ids.length)
      for (const name of names) assert.match(name, /^[A-Za-z0-9%_-][A-Za-z0-9%._~-]{0,200}\.jsonl$/)
      assert.strictEqual(fileName("th_1"), "th_1.jsonl")
      for (const id of ids) {
        const thread = yield* Effect.flatMap(ThreadSource, (source) => source.thread(id)).pipe(
          Effect.provide(ThreadSource.layerDirectory(directory).pipe(Layer.provide(NodeServices.layer)))
        )
        assert.deepStrictEqual(thread.entries[0]?.payload, { role: "user", text: id })
        assert.strictEqual(thread.entries.length, 3)
      }
    })
  )
})

describe("ThreadSink over HTTP", () => {
  const httpSink = (options: HttpOptions) =>
    ThreadSink.pipe(
      Effect.provide(
        ThreadSink.layerHttp({ backoff: "1 millis", retries: 2, token: Redacted.make(TOKEN), ...options }).pipe(
          Layer.provide(FetchHttpClient.layer),
          Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
        )
      )
    )
  const taken = (body: string): ReadonlyArray<unknown> => JSON.parse(body).entries

  it.live("sends entries unchanged, large batches in several requests, and adds up the answers", () =>
    Effect.gen(function* () {
      const server = yield* FaultyServer.make(({ body }, response) =>
        json(response, 200, { accepted: taken(body).length - 1, repeated: 1, more: true })
      )
      const entries = [chat(1, "é🦄\u2028"), chat(2, "x".repeat(500)), chat(3), chat(4), chat(5, "y".repeat(200))]
      const sink = yield* httpSink({ url: server.url, maxBatchBytes: 250 })
      assert.deepStrictEqual(yield* sink.append("a/b", entries), { accepted: 1, repeated: 4 })
      assert.deepStrictEqual(
        server.received.map(({ body }) => taken(body)),
        [[entries[0]], [entries[1]], [entries[2], entries[3]], [entries[4]]]
      )
      for (const { method, url, authorization } of server.received) {
        assert.deepStrictEqual([method, url, authorization], ["POST", "/threads/a%2Fb/entries", `Bearer ${TOKEN}`])
      }
    })
  )

  it.live("divides requests that are too large for the server, down to one entry", () =>
    Effect.gen(function* () {
      const stored: Array<unknown> = []
      const server = yield* FaultyServer.make(({ body }, response) => {
        if (body.length > 200) return json(response, 413, { message: "too much" })
        stored.push(...taken(body))
        return json(response, 200, { accepted: taken(body).length, repeated: 0 })
      })
      const sink = yield* httpSink({ url: server.url })
      const entries = Array.from({ length: 9 }, (_, n) => chat(n))
      assert.deepStrictEqual(yield* sink.append("th_1", entries), { accepted: 9, repeated: 0 })
      assert.deepStrictEqual(stored, entries)
      const error = yield* Effect.flip(sink.append("th_1", [chat(10, "x".repeat(300))]))
      assert.isFalse(error.retryable)
      assert.include(error.message, "takes no request of that size (HTTP 413): too much")
    })
  )

  it.live("distinguishes retryable failures from others, without the token", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [FaultyServer.Answer, boolean, number, HttpOptions?]> = [
        [(_, response) => json(response, 500, {}), true, 3],
        [(_, response) => json(response, 503, { message: "disk full" }), true, 3],
        [(_, response) => json(response, 429, {}), true, 3],
        [(_, response) => response.socket?.destroy(), true, 3],
        [() => undefined, true, 3, { timeout: "250 millis" }],
        [({ authorization }, response) => json(response, 401, { message: authorization }), false, 1],
        [({ authorization }, response) => json(response, 400, { message: authorization }), false, 1],
        [(_, response) => json(response, 404, {}), false, 1],
        [(_, response) => json(response, 200, { ok: true }), false, 1]
      ]
      for (const [answer, retryable, asked, options] of cases) {
        const server = yield* FaultyServer.make(answer)
        const sink = yield* httpSink({ url: server.url, ...options })
        const error = yield* Effect.flip(sink.append("th_1", [chat(1)]))
        assert.instanceOf(error, ThreadSinkError)
        assert.deepStrictEqual([error.retryable, server.received.length], [retryable, asked], error.message)
        assert.notInclude(`${error.stack} ${JSON.stringify(error)} ${inspect(error, { depth: 9 })}`, TOKEN)
      }
    })
  )

  it.live("sends a batch again when its answer was lost", () =>
    Effect.gen(function* () {
      const server = yield* FaultyServer.make((_, response, count) =>
        count === 1 ? response.socket?.destroy() : json(response, 200, { accepted: 0, repeated: 2 })
      )
      const sink = yield* httpSink({ url: server.url })
      assert.deepStrictEqual(yield* sink.append("th_1", [chat(1), chat(2)]), { accepted: 0, repeated: 2 })
      assert.strictEqual(server.received[0]?.body, server.received[1]?.body)
    })
  )

  it.live("fails at the first append without an address", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.flatMap(httpSink({}), (sink) => sink.append("th_1", [chat(1)])))
      assert.include(error.message, "cannot append to thread th_1: ARBE_URL is not set. Set it to")
      assert.isFalse(error.retryable)
    })
  )
})
