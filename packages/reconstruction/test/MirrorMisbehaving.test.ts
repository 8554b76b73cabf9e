/**
 * Mirrors to a server that breaks the contract of docs/thread.md. In each case the mirror ends, a line that the server
 * does not keep is reported, and the next start with a good server sends what is missing.
 */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Fs from "node:fs"
import type { ServerResponse } from "node:http"
import * as Path from "node:path"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Mirror } from "../src/Mirror.ts"
import { ThreadSink } from "../src/ThreadSink.ts"
import { ThreadSource } from "../src/ThreadSource.ts"
import * as FaultyServer from "./support/FaultyServer.ts"

const { json } = FaultyServer
const seed = Dose.firstSeed()
const rounds = Dose.of("PI_SESSIONS_ROUNDS", { test: 2, campaign: 40 })

interface Entry {
  readonly id: string
  readonly type: string
  readonly payload?: { readonly line?: string; readonly seq?: number }
}

type Ids = ReadonlyArray<string>

/** What a server does wrong. Each member replaces the behaviour of a good server. */
interface Fault {
  /** The entries of a batch that it keeps. */
  readonly keep?: (entries: ReadonlyArray<Entry>, batch: number) => ReadonlyArray<Entry>
  /** Answers a POST. */
  readonly acknowledge?: (response: ServerResponse, sent: number, accepted: number, batch: number) => void
  /** Answers a GET of a page after `after`. */
  readonly page?: (response: ServerResponse, held: ReadonlyArray<Entry>, after: number, count: number) => void
  /** Whether the answers do not show it. */
  readonly isUnnoticeable?: boolean
}

const PAGE = 7
const slice = (held: ReadonlyArray<Entry>, after: number) => held.slice(after, after + PAGE)
const next = (held: ReadonlyArray<Entry>, after: number) => (after + PAGE < held.length ? `${after + PAGE}` : null)
const html = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Log in</body></html>")
const isLost = ({ payload }: Entry) => payload?.seq === 5

const counted = (accepted: unknown, repeated: unknown): Fault => ({
  acknowledge: (response) => json(response, 200, { accepted, repeated })
})

const honest = (response: ServerResponse, sent: number, accepted: number) =>
  json(response, 200, { accepted, repeated: sent - accepted })

const faults: { readonly [name: string]: Fault } = {
  "loses an entry each time and reports it": {
    keep: (entries) => entries.filter((entry) => !isLost(entry)),
    acknowledge: (response, _sent, accepted) => json(response, 200, { accepted, repeated: 0 })
  },
  "loses half of a batch once and reports it": {
    keep: (entries, batch) => (batch % 2 === 1 ? entries.slice(0, entries.length >> 1) : entries),
    acknowledge: (response, sent, accepted, batch) =>
      batch % 2 === 1 ? json(response, 200, { accepted, repeated: 0 }) : honest(response, sent, accepted)
  },
  "keeps nothing and counts nothing": { keep: () => [], ...counted(0, 0) },
  "keeps all and counts one too few": {
    acknowledge: (response, sent, accepted) =>
      json(response, 200, { accepted: accepted - 1, repeated: sent - accepted })
  },
  "counts too few once": {
    acknowledge: (response, sent, accepted, batch) => honest(response, batch % 2 === 1 ? sent - 1 : sent, accepted)
  },
  "loses entries and counts more than it was sent": { keep: (entries) => entries.slice(1), ...counted(1e6, 0) },
  "loses entries and counts below zero": {
    keep: (entries) => entries.slice(1),
    acknowledge: (response, sent) => json(response, 200, { accepted: sent + 3, repeated: -3 })
  },
  "counts in fractions": counted(0.5, 0.25),
  "counts in text": counted("1", "0"),
  "counts null": counted(null, null),
  "acknowledges without counting": { acknowledge: (response) => json(response, 200, {}) },
  "acknowledges with an empty body": { acknowledge: (response) => response.writeHead(200).end() },
  "acknowledges with 204": { acknowledge: (response) => response.writeHead(204).end() },
  "acknowledges with a web page and keeps nothing": { keep: () => [], acknowledge: html },
  "acknowledges with a page of entries": {
    keep: () => [],
    acknowledge: (response) => json(response, 200, { entries: [], next: null })
  },
  "acknowledges with half a JSON text": { acknowledge: (response) => response.writeHead(200).end('{"accepted":1') },
  "keeps all and hangs up": { acknowledge: (response) => response.socket?.destroy() },
  "repeats all on every POST": {
    acknowledge: (response, sent) => json(response, 200, { accepted: 0, repeated: sent })
  },
  "loses an entry each time and counts it, repeated": {
    keep: (entries) => entries.filter((entry) => !isLost(entry)),
    acknowledge: (response, sent) => json(response, 200, { accepted: 0, repeated: sent })
  },
  "loses an entry each time and counts it": {
    keep: (entries) => entries.filter((entry) => !isLost(entry)),
    acknowledge: (response, sent) => json(response, 200, { accepted: sent, repeated: 0 }),
    isUnnoticeable: true
  },
  "answers with the same cursor each time": {
    page: (response, held) => json(response, 200, { entries: slice(held, 0), next: "0" })
  },
  "goes back to the first page": {
    page: (response, held, after) =>
      json(response, 200, { entries: slice(held, after), next: next(held, after) ?? "0" })
  },
  "goes back under new cursors": {
    page: (response, held, _after, count) => json(response, 200, { entries: slice(held, 0), next: `c${count}` })
  },
  "never ends with empty pages": {
    page: (response, _held, _after, count) => json(response, 200, { entries: [], next: `c${count}` })
  },
  "leaves out the cursor": { page: (response, held) => json(response, 200, { entries: slice(held, 0) }) },
  "gives a number for a cursor": {
    page: (response, held) => json(response, 200, { entries: slice(held, 0), next: 7 })
  },
  "ends after the first page": {
    page: (response, held) => json(response, 200, { entries: slice(held, 0), next: null })
  },
  "repeats entries on the next page": {
    page: (response, held, after) =>
      json(response, 200, { entries: held.slice(Math.max(0, after - 3), after + PAGE), next: next(held, after) })
  },
  "skips an entry of a page": {
    page: (response, held, after) =>
      json(response, 200, { entries: slice(held, after).filter((entry) => !isLost(entry)), next: next(held, after) })
  },
  "gives the pages of another thread": {
    page: (response, held) =>
      json(response, 200, { entries: held.map((entry) => ({ ...entry, threadId: "other" })), next: null })
  },
  "gives a web page": { page: html },
  "answers that the thread does not exist": { page: (response) => json(response, 404, { message: "no such thread" }) }
}

/** A server of one thread. */
const serve = (held: Map<string, Entry>, fault: Fault) => {
  let batches = 0
  let pages = 0
  return FaultyServer.make(({ body, method, url }, response) => {
    if (method === "POST") {
      const { entries }: { readonly entries: ReadonlyArray<Entry> } = JSON.parse(body)
      const batch = ++batches
      let accepted = 0
      for (const entry of fault.keep?.(entries, batch) ?? entries) {
        if (!held.has(entry.id)) accepted++
        held.set(entry.id, held.get(entry.id) ?? entry)
      }
      return (fault.acknowledge ?? honest)(response, entries.length, accepted, batch)
    }
    const after = Number(new URL(url, "http://localhost").searchParams.get("after") ?? "0")
    if (fault.page !== undefined) return fault.page(response, [...held.values()], after, ++pages)
    if (held.size === 0) return json(response, 404, { message: "no such thread" })
    json(response, 200, { entries: slice([...held.values()], after), next: next([...held.values()], after) })
  })
}

/** Mirrors the file. Returns whether all lines were acknowledged, and the reports. */
const mirror = Effect.fnUntraced(function* (file: string, state: string, url: string) {
  const reports: Array<string> = []
  const options = { url, retries: 0, timeout: "5 seconds" } as const
  const threads = Layer.merge(ThreadSink.layerHttp(options), ThreadSource.layerHttp(options))
  const arrived = yield* Effect.flatMap(Mirror, (service) =>
    Effect.gen(function* () {
      yield* service.open({ file, sessionId: "s1", threadId: "th", fallbackThreadId: "th", fresh: false })
      for (let flush = 0; flush < 6; flush++) if (yield* service.flush("5 seconds")) return true
      return false
    })
  ).pipe(
    Effect.provide(
      Mirror.layer({
        sinkName: "server",
        stateDirectory: state,
        maxLines: 4,
        interval: "1 hour",
        backoff: "1 millis",
        longestBackoff: "2 millis",
        report: (kind, message) => Effect.sync(() => reports.push(`${kind}: ${message}`))
      }).pipe(Layer.provide(threads), Layer.provide(FetchHttpClient.layer), Layer.provide(NodeServices.layer)),
      { local: true }
    )
  )
  return { arrived, reports }
})

const line = (entry: JsonObject) => `${JSON.stringify(entry)}\n`
const sessionLines = (count: number): Ids => [
  line({ type: "session", version: 3, id: "s1", cwd: "/" }),
  ...Array.from({ length: count }, (_, n) =>
    line({
      type: "message",
      id: `e${n}`,
      parentId: n === 0 ? null : `e${n - 1}`,
      message: {
        role: n % 2 === 0 ? "user" : "assistant",
        content: [{ type: "text", text: `words ${n}` }],
        timestamp: n
      }
    })
  )
]

/** The lines that the thread holds, as a file. */
const heldLines = (held: ReadonlyMap<string, Entry>): string =>
  [...held.values()]
    .flatMap(({ payload, type }) => (type.startsWith("pi.session_") && payload !== undefined ? [payload] : []))
    .sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
    .map((payload) => `${payload.line}\n`)
    .join("")

describe("a mirror whose server misbehaves", () => {
  it.live.each(Object.keys(faults))("%s", (name) =>
    Effect.gen(function* () {
      const fault = faults[name] ?? {}
      const random = SeededRandom.make(seed)
      for (let round = 0; round < rounds; round++) {
        const folder = yield* temporaryFolder
        const file = Path.join(folder, "s.jsonl")
        const state = Path.join(folder, "state")
        const lines = sessionLines(8 + random.int(20))
        const held = new Map<string, Entry>()
        // Lines that an earlier start sent, whose record is lost, so the thread is read; none in the first round.
        const before = round === 0 ? 0 : 1 + random.int(lines.length)
        Fs.writeFileSync(file, lines.slice(0, before).join(""))
        const good = yield* serve(held, {})
        if (before > 0) assert.isTrue((yield* mirror(file, Path.join(folder, "lost"), good.url)).arrived)

        Fs.writeFileSync(file, lines.join(""))
        const bad = yield* serve(held, fault)
        const { arrived, reports } = yield* mirror(file, state, bad.url)
        const why = `${name}, round ${round}, PI_SESSIONS_SEED=${seed}: ${reports.join("; ")}`
        assert.isBelow(bad.received.length, 200, why)
        const whole = heldLines(held) === lines.join("")
        if (fault.isUnnoticeable !== true) {
          if (arrived) assert.isTrue(whole, why)
          else assert.isAbove(reports.length, 0, why)
        }

        if (fault.isUnnoticeable === true) continue
        const again = yield* mirror(file, state, good.url)
        assert.deepStrictEqual(again, { arrived: true, reports: [] }, why)
        assert.strictEqual(heldLines(held), lines.join(""), why)
      }
    })
  )
})
