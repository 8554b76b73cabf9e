/** Reading threads from servers and directories. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { NodeServices } from "@effect/platform-node"
import * as FileSystem from "node:fs"
import type { ServerResponse } from "node:http"
import * as Path from "node:path"
import { inspect } from "node:util"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { type PagesOptions } from "../src/http/ThreadPages.ts"
import { ThreadSource, ThreadUnavailable } from "../src/ThreadSource.ts"
import * as FaultyServer from "./support/FaultyServer.ts"

const { chat, json } = FaultyServer
const TOKEN = "tok-5ecret-5ecret"
const token = Redacted.make(TOKEN)

const read = (options: PagesOptions, ref = "th_1") =>
  Effect.flatMap(ThreadSource, (source) => source.thread(ref)).pipe(
    Effect.provide(
      ThreadSource.layerHttp({ backoff: "1 millis", retries: 2, token, ...options }).pipe(
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
      )
    )
  )

const ids = (thread: { readonly entries: ReadonlyArray<{ readonly id: string }> }) => thread.entries.map(({ id }) => id)

/** The error of a read from a server with this answer, and the number of requests. */
const failure = Effect.fnUntraced(function* (answer: FaultyServer.Answer, options: PagesOptions = {}) {
  const server = yield* FaultyServer.make(answer)
  const error = yield* Effect.flip(read({ url: server.url, ...options }))
  assert.instanceOf(error, ThreadUnavailable)
  assert.notInclude(`${error.stack} ${JSON.stringify(error)} ${inspect(error, { depth: 9 })}`, TOKEN)
  assert.strictEqual(error.ref, "th_1")
  return { error, asked: server.received.length, url: server.url }
})

const whole = (response: ServerResponse) => json(response, 200, { entries: [chat(1), chat(2)], next: null })

describe("ThreadSource over HTTP", () => {
  it.live("requests pages with the token until the last one, and keeps the order", () =>
    Effect.gen(function* () {
      const server = yield* FaultyServer.make((_, response, count) =>
        json(response, 200, {
          entries: [chat(2 * count - 1), chat(2 * count)],
          next: count < 3 ? `c/${count}&?` : null
        })
      )
      const thread = yield* read({ url: `${server.url}/base/`, limit: 2 }, "a/b c%?ü")
      assert.deepStrictEqual(ids(thread), ["e1", "e2", "e3", "e4", "e5", "e6"])
      const path = "/base/threads/a%2Fb%20c%25%3F%C3%BC/entries?limit=2"
      assert.deepStrictEqual(
        server.received.map(({ url }) => url),
        [path, `${path}&after=c%2F1%26%3F`, `${path}&after=c%2F2%26%3F`]
      )
      for (const { authorization } of server.received) assert.strictEqual(authorization, `Bearer ${TOKEN}`)
    })
  )

  it.live("retries when a server fails, is busy, closes within a body, or sends half a page", () =>
    Effect.gen(function* () {
      const page = JSON.stringify({ entries: [chat(1), chat(2)], next: null })
      const faults: ReadonlyArray<(response: ServerResponse) => void> = [
        (response) => json(response, 500, {}),
        (response) => json(response, 429, { message: "slow down" }),
        (response) => response.writeHead(503).end("<html>"),
        (response) => response.socket?.destroy(),
        (response) => {
          response.writeHead(200, { "content-length": page.length })
          response.write(page.slice(0, 40), () => response.socket?.destroy())
        },
        (response) => response.writeHead(200).end(page.slice(0, 40)),
        (response) => response.writeHead(200).end()
      ]
      for (const fault of faults) {
        const server = yield* FaultyServer.make((_, response, count) => (count < 3 ? fault(response) : whole(response)))
        assert.deepStrictEqual(ids(yield* read({ url: server.url })), ["e1", "e2"])
        assert.strictEqual(server.received.length, 3)
        const always = yield* failure((_, response) => fault(response))
        assert.strictEqual(always.asked, 3, always.error.message)
        assert.include(always.error.message, "(tried 3 times)")
        assert.include(always.error.message, always.url)
      }
    })
  )

  it.live("does not retry lasting failures, and gives a remedy", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<
        readonly [FaultyServer.Answer, ThreadUnavailable["why"], ReadonlyArray<string>, PagesOptions?]
      > = [
        [
          (_, response) => json(response, 401, { message: "who?" }),
          "refused",
          ["refused the token", "HTTP 401", "who?"]
        ],
        [(_, response) => json(response, 404, {}), "absent", ["no such thread", "Check the thread's id"]],
        [(_, response) => json(response, 400, { message: "no\ngood" }), "refused", ["HTTP 400): no good."]],
        [
          (_, response) => response.writeHead(200).end("<html>Log in</html>"),
          "damaged",
          ["no JSON object", "ARBE_URL"]
        ],
        [(_, response) => json(response, 200, { entries: [], next: 7 }), "damaged", ["neither a cursor nor null"]],
        [(_, response) => json(response, 200, { entries: [chat(1)] }), "damaged", ["neither a cursor nor null"]],
        [(_, response) => json(response, 200, { entries: [chat(1)], next: "same" }), "damaged", ['"same" came again']],
        [
          (_, response, count) => json(response, 200, { entries: [chat(1)], next: `c${count}` }),
          "damaged",
          ["pages never end: 10 in a row brought nothing new"]
        ],
        [
          (_, response, count) => json(response, 200, { entries: [], next: `c${count}` }),
          "damaged",
          ["pages never end: 10 in a row brought nothing new"]
        ],
        [
          (_, response) => {
            response.writeHead(200).write('{"entries":[')
            const more = () => {
              while (!response.destroyed && response.write(`${JSON.stringify(chat(1))},`.repeat(100)));
            }
            response.on("drain", more)
            more()
          },
          "damaged",
          ["does not end within 100000 bytes"],
          { maxAnswerBytes: 100_000 }
        ]
      ]
      for (const [answer, why, words, options] of cases) {
        const { error, asked } = yield* failure(answer, { retries: 5, ...options })
        for (const word of words) assert.include(error.message, word)
        assert.strictEqual(error.why, why)
        assert.isAtMost(asked, 11, error.message)
        assert.notInclude(error.message, "tried")
      }
    })
  )

  it.live("gives up on a server that is silent before or within its answer", () =>
    Effect.gen(function* () {
      for (const answer of [
        () => undefined,
        (_: unknown, response: ServerResponse) => {
          response.writeHead(200).write('{"entries":[')
        }
      ]) {
        const { error, asked } = yield* failure(answer, { timeout: "250 millis", retries: 1 })
        assert.include(error.message, "has been silent for 250ms (tried 2 times)")
        assert.deepStrictEqual([error.why, asked], ["unreachable", 2])
      }
    })
  )

  it.live("reports the address and the system's error code without a server", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(
        Effect.map(
          FaultyServer.make(() => undefined),
          ({ url }) => url
        )
      )
      const error = yield* Effect.flip(read({ url: gone }))
      assert.strictEqual(error.why, "unreachable")
      assert.include(error.message, `no answer from ${gone}/ (ECONNREFUSED) (tried 3 times). Check ARBE_URL`)
    })
  )

  it.live("reads the rest of a page with damaged entries, and reports those", () =>
    Effect.gen(function* () {
      const server = yield* FaultyServer.make((_, response) =>
        response
          .writeHead(200)
          .end(
            `{"entries":[${JSON.stringify(chat(1))},{"id":"e2",},7,{"type":"chat"},${JSON.stringify(chat(3))}],"next":null}`
          )
      )
      const thread = yield* read({ url: server.url })
      assert.deepStrictEqual(ids(thread), ["e1", "e3"])
      assert.deepStrictEqual(
        thread.diagnostics.map(({ line }) => line),
        [2, 3, 4]
      )
    })
  )

  it.live("takes address and token from the environment, and reports a missing or wrong setting", () =>
    Effect.gen(function* () {
      const server = yield* FaultyServer.make(({ authorization }, response) =>
        authorization === undefined ? json(response, 401, {}) : whole(response)
      )
      const from = (settings: { readonly [name: string]: string }, ref = "th_1") =>
        Effect.flatMap(ThreadSource, (source) => source.thread(ref)).pipe(
          Effect.provide(
            ThreadSource.layerHttp().pipe(
              Layer.provide(FetchHttpClient.layer),
              Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
            )
          )
        )
      const wrong = (settings: { readonly [name: string]: string }, ref?: string) =>
        Effect.map(Effect.flip(from(settings, ref)), (error) => error.message)
      yield* from({ ARBE_URL: ` ${server.url}\n`, ARBE_TOKEN: `${TOKEN}\n` })
      assert.strictEqual(server.received.at(-1)?.authorization, `Bearer ${TOKEN}`)
      assert.match(yield* wrong({ ARBE_URL: server.url }), /wants a token \(HTTP 401\). Set ARBE_TOKEN$/)
      assert.match(yield* wrong({ ARBE_URL: server.url, ARBE_TOKEN: " " }), /Set ARBE_TOKEN$/)
      assert.include(yield* wrong({}), "ARBE_URL is not set. Set it to")
      assert.include(yield* wrong({ ARBE_URL: "ftp://x" }), "no http or https address")
      for (const secret of [`http://me:${TOKEN}@127.0.0.1`, `http://127.0.0.1/?token=${TOKEN}`]) {
        const message = yield* wrong({ ARBE_URL: secret })
        assert.include(message, "set ARBE_TOKEN")
        assert.notInclude(message, TOKEN)
      }
      const torn = yield* wrong({ ARBE_URL: server.url, ARBE_TOKEN: `${TOKEN}\n${TOKEN}` })
      assert.include(torn, "characters that no token may hold")
      assert.notInclude(torn, TOKEN)
      for (const ref of ["", ".", "..", "\ud800"]) {
        assert.include(yield* wrong({ ARBE_URL: server.url }, ref), "cannot be a thread's id")
      }
    })
  )

  it.live("keeps the token out of errors that echo it, and out of traces", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const server = yield* FaultyServer.make(({ authorization }, response, count) =>
        count === 1
          ? json(response, 500, { message: authorization })
          : json(response, 400, { message: `what is ${authorization}?` })
      )
      const error = yield* Effect.flip(read({ url: server.url })).pipe(Effect.withTracer(tracer))
      assert.include(error.message, "what is Bearer <redacted>?")
      assert.include(
        spans.map(({ name }) => name),
        "ThreadSource.http"
      )
      assert.notInclude(inspect(spans, { depth: 20, showHidden: true }), TOKEN)
    })
  )
})

describe("ThreadSource in a directory", () => {
  const thread = (directory: string, ref: string) =>
    Effect.flatMap(ThreadSource, (source) => source.thread(ref)).pipe(
      Effect.provide(ThreadSource.layerDirectory(directory).pipe(Layer.provide(NodeServices.layer)))
    )

  it.effect("reads the file named by the thread's id, and reports a missing one", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const lines = [chat(1), chat(2), chat(1)].map((entry) => `${JSON.stringify(entry)}\n`)
      FileSystem.writeFileSync(Path.join(directory, "th%2F1.jsonl"), lines.join(""))
      const found = yield* thread(directory, "th/1")
      assert.deepStrictEqual([ids(found), found.repeated], [["e1", "e2"], 1])
      const error = yield* Effect.flip(thread(directory, "../th_2"))
      assert.strictEqual(error.why, "absent")
      assert.include(error.message, `${Path.join(directory, "%2E.%2Fth_2.jsonl")}: no such file`)
    })
  )
})
