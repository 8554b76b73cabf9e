/** The HTTP contract, on servers in this process. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Exit, Layer, Logger, Option, Redacted, Scope } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import * as FileSystem from "node:fs"
import * as Http from "node:http"
import * as Path from "node:path"
import { inspect } from "node:util"
import { type JsonObject } from "@pi-sessions/core/Json"
import { type PagesOptions } from "@pi-sessions/reconstruction/http/ThreadPages"
import { ThreadApi } from "@pi-sessions/reconstruction/ThreadApi"
import * as ThreadSink from "@pi-sessions/reconstruction/ThreadSink"
import * as ThreadSource from "@pi-sessions/reconstruction/ThreadSource"
import * as FullDisk from "@pi-sessions/testing/disk/FullDisk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as ThreadServer from "../src/ThreadServer.ts"

const TOKEN = "tok-5ecret-5ecret"
const token = Redacted.make(TOKEN)

/** Starts a server in this process. Default: a new database. Returns its address. */
const serve = Effect.fnUntraced(function* (options: Partial<ThreadServer.Options> = {}) {
  const database = Path.join(yield* temporaryFolder, "threads.sqlite")
  const layer = ThreadServer.layer({
    host: "127.0.0.1",
    port: 0,
    database,
    token: Option.some(token),
    maxBodyBytes: 64 * 1024 * 1024,
    ...options
  })
  const context = yield* Layer.build(layer).pipe(Effect.provide(Logger.layer([])))
  return HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
})

const clients = Layer.merge(FetchHttpClient.layer, ConfigProvider.layer(ConfigProvider.fromUnknown({})))
const once = { token, retries: 0 }

const append = (
  url: string,
  threadId: string,
  entries: ReadonlyArray<JsonObject>,
  options: ThreadSink.HttpOptions = {}
) =>
  Effect.flatMap(ThreadSink.ThreadSink, (sink) => sink.append(threadId, entries)).pipe(
    Effect.provide(ThreadSink.ThreadSink.layerHttp({ url, ...once, ...options }).pipe(Layer.provide(clients)))
  )

const read = (url: string, threadId: string, options: PagesOptions = {}) =>
  Effect.flatMap(ThreadSource.ThreadSource, (source) => source.thread(threadId)).pipe(
    Effect.provide(ThreadSource.ThreadSource.layerHttp({ url, ...once, ...options }).pipe(Layer.provide(clients)))
  )

/** A request by fetch. */
const call = (url: string, init: RequestInit & { readonly headers?: Record<string, string> } = {}) =>
  Effect.promise(async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...init.headers }
    const response = await fetch(url, { ...init, headers })
    return { status: response.status, text: await response.text() }
  })

/** A request whose path and host are sent unchanged, which fetch does not do. */
const request = (url: string, method: string, path: string, headers: Record<string, string> = {}) =>
  Effect.promise(
    () =>
      new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
        const { hostname, port } = new URL(url)
        Http.request({ hostname, port, method, path, headers }, (response) => {
          let text = ""
          response.on("data", (chunk) => (text += chunk))
          response.on("end", () => resolve({ status: response.statusCode, text }))
        })
          .on("error", reject)
          .end()
      })
  )

const chat = (n: number, text = `words ${n} é🦄`) => ({ id: `e${n}`, type: "chat", payload: { role: "user", text } })
const chats = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => chat(from + n))

describe("the thread server", () => {
  it.live("returns the same entries in the same order for every page size", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      const entries = chats(0, 137)
      assert.deepStrictEqual(yield* append(url, "th_1", entries), { accepted: 137, repeated: 0 })
      yield* append(url, "th_2", chats(500, 510))
      const whole = yield* read(url, "th_1", { limit: 100_000 })
      assert.deepStrictEqual<unknown>(whole.entries, entries)
      for (const limit of [1, 2, 7, 136, 137, 138]) {
        assert.deepStrictEqual((yield* read(url, "th_1", { limit })).entries, whole.entries, `limit ${limit}`)
      }
    })
  )

  it.live("returns each entry once to a reader while others append", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      yield* append(url, "th_1", chats(0, 5))
      const entries = `${url}/threads/th_1/entries?limit=3`
      const first = JSON.parse((yield* call(entries)).text)
      yield* append(url, "th_1", chats(5, 7))
      const second = JSON.parse((yield* call(`${entries}&after=${first.next}`)).text)
      const third = JSON.parse((yield* call(`${entries}&after=${second.next}`)).text)
      assert.deepStrictEqual([...first.entries, ...second.entries, ...third.entries], chats(0, 7))
      assert.isNull(third.next)
      yield* append(url, "th_1", chats(7, 8))
      const later = JSON.parse((yield* call(`${entries}&after=${second.next}`)).text)
      assert.deepStrictEqual(later, { entries: chats(6, 8), next: null })
    })
  )

  it.live("stores the first entry of each id, also from shuffled and overlapping batches", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      const random = SeededRandom.make(20_261_121)
      yield* append(url, "th_1", chats(0, 20))
      assert.deepStrictEqual(yield* append(url, "th_1", chats(0, 20)), { accepted: 0, repeated: 20 })
      assert.deepStrictEqual(yield* append(url, "th_1", [chat(3, "changed"), chat(20), chat(20, "changed")]), {
        accepted: 1,
        repeated: 2
      })
      for (let round = 0; round < 20; round++) {
        const batch = chats(round, round + 8)
          .map((entry) => ({ entry, key: random.next() }))
          .sort((a, b) => a.key - b.key)
          .map(({ entry }) => entry)
        yield* append(url, "th_1", batch)
      }
      const stored = (yield* read(url, "th_1")).entries
      assert.deepStrictEqual<unknown>(stored.slice(0, 21), chats(0, 21))
      assert.deepStrictEqual<unknown>(
        stored.toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1))),
        chats(0, 27)
      )
    })
  )

  it.live("keeps entries byte for byte, with unknown types and fields", () =>
    Effect.gen(function* () {
      const url = `${yield* serve()}/threads/${encodeURIComponent("th/1 %2F é")}/entries`
      const entries = [
        '{"id":"a",  "type":"pi.future_kind", "n":1.0, "e":-0E+5, "x":[[],{}], "id2":"\\u0000\\ud83d", "é🦄":"\\u00e9"}',
        '{"type":"session","id":"\\u0062","big":123456789012345678901234567890}',
        '{"id":"c","type":"","__proto__":{"x":1},"constructor":null}'
      ]
      const body = `{ "more": true, "entries" : [${entries.join(", ")} ], "next": 1 }`
      assert.deepStrictEqual(yield* call(url, { method: "POST", body }), {
        status: 200,
        text: '{"accepted":3,"repeated":0}'
      })
      assert.deepStrictEqual(yield* call(url), { status: 200, text: `{"entries":[${entries.join(",")}],"next":null}` })
    })
  )

  it.live("stores and returns an entry of 20 MB", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      const text = `${"x".repeat(1000)}é🦄\\"\n\u0001`.repeat(20_000)
      assert.isAbove(Buffer.byteLength(text), 20_000_000)
      yield* append(url, "th_1", [chat(1), chat(2, text), chat(3)])
      const { entries } = yield* read(url, "th_1")
      assert.deepStrictEqual(
        entries.map(({ id }) => id),
        ["e1", "e2", "e3"]
      )
      assert.isTrue(entries[1]?.type === "chat" && entries[1].payload.text === text)
    })
  )

  it.live("ends large pages early, and readers continue", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      const entries = Array.from({ length: 7 }, (_, n) => chat(n, "x".repeat(3_000_000)))
      yield* append(url, "th_1", entries)
      const first = JSON.parse((yield* call(`${url}/threads/th_1/entries`)).text)
      assert.deepStrictEqual([first.entries.length, typeof first.next], [3, "string"])
      assert.deepStrictEqual<unknown>((yield* read(url, "th_1")).entries, entries)
    })
  )

  it.live("answers invalid requests with the contract's errors, and stores nothing", () =>
    Effect.gen(function* () {
      const url = yield* serve({ maxBodyBytes: 1000 })
      const entries = `${url}/threads/th_1/entries`
      const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
        call(entries, { method: "POST", body, headers })
      const good = JSON.stringify(chat(1))
      const cases = [
        [yield* call(entries), 404, "ThreadNotFound"],
        [yield* call(`${entries}?after=3`), 404, "ThreadNotFound"],
        [yield* call(`${entries}?after=x`), 400, "no cursor"],
        [yield* call(`${entries}?limit=0`), 400, "limit"],
        [yield* call(`${entries}?limit=many`), 400, "limit"],
        [yield* call(entries, { headers: { authorization: "" } }), 401, "Unauthorized"],
        [yield* call(entries, { headers: { authorization: `Basic ${TOKEN}` } }), 401, "Unauthorized"],
        [yield* call(entries, { headers: { authorization: `Bearer ${TOKEN}x` } }), 401, "Unauthorized"],
        [yield* post(`{"entries":[${good}]}`, { authorization: "Bearer " }), 401, "Unauthorized"],
        [yield* post(`{"entries":[${good}]}`, { "content-type": "text/plain" }), 400, "application/json"],
        [yield* post(""), 400, "it is empty"],
        [yield* post(`{"entries":[${good}`), 400, "breaks off"],
        [yield* post(`{"entries":[${good},]}`), 400, "commas"],
        [yield* post(`[${good}]`), 400, "no JSON object"],
        [yield* post(`{"entries":[${good},{"id":"x"}]}`), 400, 'entries[1] has no \\"type\\"'],
        [yield* post(`{"entries":[${good},{"type":"x"}]}`), 400, 'entries[1] has no \\"id\\"'],
        [yield* post(`{"entries":[${good},{"id":7,"type":"x"}]}`), 400, 'entries[1] has no \\"id\\"'],
        [yield* post(`{"entries":[${good},{"id":"","type":"x"}]}`), 400, 'entries[1] has no \\"id\\"'],
        [yield* post(`{"entries":[${good},{"id":"\\ud800","type":"x"}]}`), 400, "no Unicode text"],
        [yield* post(`{"entries":[${good},{"id":"x" "type":"x"}]}`), 400, "entries[1] is no JSON"],
        [yield* post(`{"entries":[${good},7]}`), 400, "entries[1] is no object"],
        [
          yield* post(
            Buffer.concat([
              Buffer.from(`{"entries":[${good},{"id":"x`),
              Buffer.of(0xff),
              Buffer.from('","type":"x"}]}')
            ])
          ),
          400,
          "entries[1] is no JSON in UTF-8"
        ],
        [yield* post(`{"entries":[${good},${JSON.stringify(chat(2, "x".repeat(1000)))}]}`), 413, "1000 bytes"]
      ] as const
      for (const [{ status, text }, expected, words] of cases) {
        assert.strictEqual(status, expected, text)
        assert.include(text, words)
        assert.notInclude(text, TOKEN)
        assert.containsAllKeys(JSON.parse(text), ["_tag", "message"])
      }
      assert.deepStrictEqual(yield* post('{"entries":[]}'), { status: 200, text: '{"accepted":0,"repeated":0}' })
      assert.strictEqual((yield* call(entries)).status, 404)
      assert.deepStrictEqual(yield* append(url, "th_1", [chat(1)]), { accepted: 1, repeated: 0 })
    })
  )

  it.live("serves a client that is derived from the contract", () =>
    Effect.gen(function* () {
      const url = yield* serve({ maxBodyBytes: 1000 })
      const { threads } = yield* HttpApiClient.make(ThreadApi, {
        baseUrl: url,
        transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(token))
      }).pipe(Effect.provide(FetchHttpClient.layer))
      const params = { id: "th/1" }
      const entries = [{ id: "a", type: "x", more: { deep: [1] } }, chat(1)]
      assert.deepStrictEqual<unknown>(yield* threads.append({ params, payload: { entries } }), {
        accepted: 2,
        repeated: 0
      })
      const page = yield* threads.read({ params, query: { limit: "1" } })
      assert.deepStrictEqual<unknown>(page.entries, [entries[0]])
      const rest = yield* threads.read({ params, query: page.next === null ? {} : { after: page.next } })
      assert.deepStrictEqual<unknown>(rest, { entries: [entries[1]], next: null })
      const tags = yield* Effect.all([
        Effect.flip(threads.read({ params: { id: "none" }, query: {} })),
        Effect.flip(threads.read({ params, query: { after: "x" } })),
        Effect.flip(threads.append({ params, payload: { entries: [chat(2, "x".repeat(1000))] } }))
      ])
      assert.deepStrictEqual(
        tags.map(({ _tag }) => _tag),
        ["ThreadNotFound", "Malformed", "TooLarge"]
      )
    })
  )

  it.live("gives sinks and sources errors with a remedy, without the token", () =>
    Effect.gen(function* () {
      const url = yield* serve({ maxBodyBytes: 10_000 })
      yield* append(url, "th_1", [chat(1)])
      const wrong = Redacted.make("wr0ng-wr0ng")
      const errors = [
        [yield* Effect.flip(read(url, "th_2")), "no such thread"],
        [yield* Effect.flip(read(url, "th_1", { token: wrong })), "refused the token"],
        [yield* Effect.flip(read(url, "th_1", { token: undefined })), "wants a token"],
        [yield* Effect.flip(append(url, "th_1", [chat(2)], { token: wrong })), "refused the token"],
        [yield* Effect.flip(append(url, "th_1", [chat(2, "x".repeat(20_000))])), "takes no request of that size"],
        // More than the kernel buffers while the server does not read.
        [yield* Effect.flip(append(url, "th_1", [chat(2, "x".repeat(70_000_000))])), "takes no request of that size"]
      ] as const
      for (const [error, words] of errors) {
        assert.include(error.message, words)
        if (error instanceof ThreadSink.ThreadSinkError) assert.isFalse(error.retryable)
        const all = `${error.stack} ${JSON.stringify(error)} ${inspect(error, { depth: 9 })}`
        for (const secret of [TOKEN, "wr0ng-wr0ng"]) assert.notInclude(all, secret)
      }
      const many = yield* append(url, "th_1", chats(1, 900))
      assert.deepStrictEqual(many, { accepted: 898, repeated: 1 })
    })
  )

  it.live("answers unknown paths, other methods and ids that are not UTF-8 with errors in JSON", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      const names = ["%FF", "a%", "%", "%zz", "%E0%A4", "%ED%A0%80", "%C0%AF", "a%F5%80%80%80b", "caf\u00e9"]
      for (const method of ["GET", "POST"]) {
        for (const name of names) {
          const answer = yield* request(url, method, `/threads/${name}/entries`)
          assert.strictEqual(answer.status, 400, `${method} ${name}`)
          assert.match(answer.text, /^\{"_tag":"Malformed","message":".*percent-encode/, `${method} ${name}`)
        }
      }
      for (const path of ["/", "/threads", "/threads//entries", "/threads/a/b/entries", "/%FF", "/threads/a"]) {
        const answer = yield* request(url, "GET", path)
        assert.strictEqual(answer.status, 404, path)
        assert.include(JSON.parse(answer.text).message, "no such path")
      }
      assert.strictEqual((yield* request(url, "DELETE", "/threads/a/entries")).status, 405)
    })
  )

  it.live("accepts every id that is UTF-8, also long and odd ones", () =>
    Effect.gen(function* () {
      const url = yield* serve()
      for (const name of ["x".repeat(5000), "é🦄".repeat(300), "a/b", "%FF", "a\u0000b", "\ufeff", "..."]) {
        assert.deepStrictEqual(yield* append(url, name, [chat(1)]), { accepted: 1, repeated: 0 })
        assert.strictEqual((yield* read(url, name)).entries.length, 1)
      }
    })
  )

  it.live("serves only loopback host names when it has no token", () =>
    Effect.gen(function* () {
      const url = yield* serve({ token: Option.none() })
      yield* append(url, "th_1", [chat(1)], { token: undefined })
      assert.strictEqual((yield* read(url, "th_1", { token: undefined })).entries.length, 1)
      const rebound = yield* request(url, "GET", "/threads/th_1/entries", { host: "evil.example:8787" })
      assert.strictEqual(rebound.status, 401)
    })
  )

  it.live("answers 503 when the store fails, which clients retry", () =>
    Effect.gen(function* () {
      const database = Path.join(yield* temporaryFolder, "threads.sqlite")
      const url = yield* serve({ database })
      yield* append(url, "th_1", [chat(1)])
      const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
      const other = new DatabaseSync(database)
      other.exec("ALTER TABLE entries RENAME TO taken_away")
      const error = yield* Effect.flip(append(url, "th_1", [chat(2)]))
      assert.isTrue(error.retryable)
      assert.include(error.message, "HTTP 503): cannot append entries: no such table: entries")
      other.exec("ALTER TABLE taken_away RENAME TO entries")
      other.close()
      assert.deepStrictEqual(yield* append(url, "th_1", [chat(2)]), { accepted: 1, repeated: 0 })
    })
  )

  it.live.skipIf(FullDisk.refusal() !== undefined)(
    "takes a batch whole or not at all when its disk is full, and takes it when there is space",
    () =>
      Effect.gen(function* () {
        const disk = yield* FullDisk.make(1 << 20)
        const url = yield* serve({ database: Path.join(disk.root, "threads.sqlite") })
        yield* append(url, "th_1", chats(0, 5))
        const batch = Array.from({ length: 5 }, (_, n) => chat(n + 5, "x".repeat(30_000)))
        for (const leave of [0, 64 * 1024]) {
          disk.fill(leave)
          const error = yield* Effect.flip(append(url, "th_1", batch))
          assert.isTrue(error.retryable)
          assert.include(error.message, "HTTP 503): cannot append entries: database or disk is full")
          assert.deepStrictEqual<unknown>((yield* read(url, "th_1")).entries, chats(0, 5))
        }
        disk.free()
        assert.deepStrictEqual(yield* append(url, "th_1", batch), { accepted: 5, repeated: 0 })
        assert.deepStrictEqual<unknown>((yield* read(url, "th_1")).entries, [...chats(0, 5), ...batch])
      })
  )

  it.live("shares its database with another server, and keeps it between runs", () =>
    Effect.gen(function* () {
      const database = Path.join(yield* temporaryFolder, "threads.sqlite")
      const scope = yield* Scope.make()
      const urls = yield* Effect.all([serve({ database }), serve({ database })]).pipe(Scope.provide(scope))
      const batches = Array.from({ length: 30 }, (_, n) => chats(n, n + 5))
      yield* Effect.forEach(batches, (batch, n) => append(urls[n % 2]!, "th_1", batch), { concurrency: 6 })
      yield* Scope.close(scope, Exit.void)
      const url = yield* serve({ database })
      const stored = (yield* read(url, "th_1")).entries
      assert.strictEqual(stored.length, 34)
      assert.isTrue(FileSystem.existsSync(database))
    })
  )
})
