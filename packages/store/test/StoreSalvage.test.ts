/** Stores that lost acknowledged entries: opening refuses them, and salvage returns what they still have. */
import * as Files from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Path as PathService, Stream } from "effect"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionStore } from "../src/SessionStore.ts"
import * as StoreLayout from "../src/StoreLayout.ts"
import * as StoreSalvage from "../src/StoreSalvage.ts"
import * as Sessions from "./support/sessions.ts"
import * as Store from "./support/storeLayer.ts"
import * as WatchedFiles from "./support/watchedFiles.ts"

const ENTRIES = 40
const header = HeaderLine.make({
  type: "session",
  version: 3,
  id: "s",
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/"
})
const entries = Array.from({ length: ENTRIES }, (_, n) =>
  SessionEntry.make({ type: "custom", id: `e${n}`, parentId: n === 0 ? null : `e${n - 1}`, data: "x".repeat(n * 7) })
)
const lines = [header, ...entries].map((line) => `${line.text}\n`)

/** A store of several segments; the last one is not sealed, and has its index rows. */
const makeStore = Effect.gen(function* () {
  const directory = yield* memoryFolder
  const store = yield* SessionStore
  yield* Effect.scoped(
    Effect.flatMap(store.create(directory, header, { segmentBytes: 3000 }), (writer) =>
      Effect.forEach(entries, (entry) => writer.append(entry))
    )
  )
  const layout = StoreLayout.of(yield* PathService.Path, Path.join(directory, "s.v2"))
  const segments = Files.readdirSync(layout.segments)
    .toSorted()
    .map((name) => Path.join(layout.segments, name))
  return { location: { directory, sessionId: "s" }, layout, segments }
})

const salvaged = (layout: StoreLayout.StoreLayout) =>
  Effect.map(Stream.runCollect(StoreSalvage.salvage(layout)), (parts) => ({
    lines: parts.flatMap((part) => part.lines.map((line) => Buffer.from(line).toString())),
    lost: parts.flatMap((part) => part.lost)
  }))

const snapshot = (directory: string) =>
  Files.readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => Files.statSync(Path.join(directory, name)).isFile() && !name.endsWith(".lock"))
    .map((name) => `${name} ${Files.readFileSync(Path.join(directory, name), "hex")}`)

describe("salvage", () => {
  it.live("returns every line of a sound store, also without index, manifest and marker", () =>
    Effect.gen(function* () {
      const { layout, location, segments } = yield* makeStore
      assert.isAbove(segments.length, 2)
      assert.deepStrictEqual(yield* salvaged(layout), { lines, lost: [] })
      for (const gone of [layout.index, layout.manifest, Path.join(location.directory, "s.active.json")]) {
        Files.rmSync(gone, { recursive: true })
      }
      assert.deepStrictEqual(yield* salvaged(layout), { lines, lost: [] })
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("loses only the line with a flipped byte, and reports its position", () =>
    Effect.gen(function* () {
      const { layout, segments } = yield* makeStore
      const random = SeededRandom.make(1)
      for (let round = 0; round < 200; round++) {
        const segment = segments[random.int(segments.length)]!
        const bytes = Files.readFileSync(segment)
        const at = random.int(bytes.length)
        const flipped = Buffer.from(bytes)
        flipped[at]! ^= 1 << random.int(8)
        Files.writeFileSync(segment, flipped)
        const found = yield* salvaged(layout)
        Files.writeFileSync(segment, bytes)
        const gap = found.lost[0]
        assert.strictEqual(found.lost.length, 1, `seed 1, round ${round}: byte ${at} of ${segment}`)
        assert.isTrue(gap?.path === segment && gap.byteOffset <= at && at < gap.end, `round ${round}`)
        const missing = lines.filter((line) => !found.lines.includes(line))
        assert.strictEqual(missing.length, 1, `seed 1, round ${round}: byte ${at} of ${segment}`)
        assert.deepStrictEqual(
          found.lines,
          lines.filter((line) => line !== missing[0])
        )
      }
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

it.live("a segment with damage in each frame is read once, by salvage and by verify", () => {
  const counts = new Map<string, number>()
  return Effect.gen(function* () {
    const directory = yield* memoryFolder
    const location = { directory, sessionId: "s1" }
    const store = yield* SessionStore
    yield* Effect.scoped(
      Effect.flatMap(store.create(directory, Sessions.headerLine()), (writer) =>
        writer.appendAll(Sessions.chain(1500, { pad: "x".repeat(900) }))
      )
    )
    const layout = StoreLayout.of(yield* PathService.Path, Path.join(directory, "s1.v2"))
    const segment = layout.segment(1)
    const whole = Files.readFileSync(segment, "latin1")
    Files.writeFileSync(segment, whole.replaceAll("x".repeat(900), `${"x".repeat(899)}y`), "latin1")
    for (const look of [
      Effect.asVoid(store.verify(location)),
      Effect.asVoid(Stream.runDrain(StoreSalvage.salvage(layout)))
    ]) {
      counts.clear()
      yield* look
      assert.isAtMost(counts.get(segment) ?? 0, 1.1 * whole.length)
    }
    const { findings } = yield* store.verify(location)
    assert.isAtLeast(findings.filter(({ path }) => path === segment).length, 1500)
  }).pipe(Effect.scoped, Effect.provide(WatchedFiles.counting(counts)))
})

describe("acknowledged entries that were damaged", () => {
  for (const [how, damage] of [
    [
      "a flipped byte",
      (bytes: Buffer) =>
        Buffer.from(bytes).fill(bytes[bytes.length >> 1]! ^ 1, bytes.length >> 1, (bytes.length >> 1) + 1)
    ],
    ["a file cut short", (bytes: Buffer) => bytes.subarray(0, bytes.length - 1)],
    ["a file cut between two frames", (bytes: Buffer) => bytes.subarray(0, bytes.indexOf('{"schema"', 1))]
  ] as const) {
    it.live(`are not taken for a torn append: ${how} in the open segment`, () =>
      Effect.gen(function* () {
        const { location, segments } = yield* makeStore
        const store = yield* SessionStore
        const last = segments.at(-1)!
        Files.writeFileSync(last, damage(Files.readFileSync(last)))
        const before = snapshot(location.directory)
        const refused = yield* Effect.flip(Effect.scoped(store.writer(location)))
        assert.strictEqual(refused._tag, "StoreDamaged", refused.message)
        assert.include(refused.message, "acknowledged")
        assert.deepStrictEqual(snapshot(location.directory), before)
        const resumed = Effect.scoped(Effect.flatMap(store.reader(location), (reader) => reader.last(ENTRIES)))
        assert.strictEqual((yield* Effect.flip(resumed))._tag, "StoreDamaged")
      }).pipe(Effect.scoped, Effect.provide(Store.live))
    )
  }
})
