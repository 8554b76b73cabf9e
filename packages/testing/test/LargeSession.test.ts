import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as HermeticPi from "../src/pi/HermeticPi.ts"
import { temporaryFolder } from "../src/TemporaryFolder.ts"
import * as LargeSession from "../src/sessions/LargeSession.ts"
import * as PiModule from "../src/pi/PiModule.ts"
import * as PiVersion from "../src/pi/PiVersion.ts"

const timeout = 60_000

const write = (file: string, options: LargeSession.LargeSessionOptions) =>
  Effect.promise(() => LargeSession.write(file, options))

it.live("has the same bytes for the same options", () =>
  Effect.gen(function* () {
    const dir = yield* temporaryFolder
    const [first, second, other] = ["first", "second", "other"].map((name) => Path.join(dir, name))
    assert(first !== undefined && second !== undefined && other !== undefined)
    const options = { entries: 3000, seed: 5, compactEvery: 400 }
    assert.deepStrictEqual(yield* write(first, options), yield* write(second, options))
    assert.isTrue(Fs.readFileSync(first).equals(Fs.readFileSync(second)))
    yield* write(other, { ...options, seed: 6 })
    assert.isFalse(Fs.readFileSync(first).equals(Fs.readFileSync(other)))
  })
)

it.live("has as many entries as asked for, of about the length asked for", () =>
  Effect.gen(function* () {
    const file = Path.join(yield* temporaryFolder, "large.jsonl")
    const { bytes, leafId } = yield* write(file, { entries: 5000, seed: 1 })
    assert.strictEqual(Fs.statSync(file).size, bytes)
    assert.approximately(bytes / 5000, 1300, 200)
    const text = Fs.readFileSync(file, "utf8")
    const ids = text.split("\n").flatMap((line) => line.match(/^{"type":"\w+","id":"([0-9a-f]{8})"/)?.[1] ?? [])
    assert.strictEqual(ids.length, 5000)
    assert.strictEqual(new Set(ids).size, 5000)
    assert.strictEqual(ids.at(-1), leafId)
  })
)

it.live(
  "has the same context in both Pis, which opening it does not change",
  () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "large.jsonl")
      for (const compactEvery of [undefined, 200]) {
        const { leafId } = yield* write(file, { entries: 1000, seed: 2, compactEvery })
        const bytes = Fs.readFileSync(file)
        const lengths: Array<number> = []
        for (const version of PiVersion.versions) {
          const { SessionManager } = yield* Effect.promise(() => PiModule.load(version))
          const session = SessionManager.open(file)
          assert.strictEqual(session.getEntries().length, 1000)
          assert.strictEqual(session.getLeafId(), leafId)
          assert.strictEqual(session.getTree().length, 1)
          lengths.push(session.buildSessionContext().messages.length)
        }
        assert.isTrue(Fs.readFileSync(file).equals(bytes))
        assert.strictEqual(lengths[0], lengths[1])
        if (compactEvery === undefined) assert.isAbove(lengths[0] ?? 0, 500)
        else assert.isBelow(lengths[0] ?? 0, 300)
      }
    }),
  timeout
)

describe.each(PiVersion.versions)("resumed by Pi %s", (version) => {
  it.live(
    "sends a result for each call and no other",
    () =>
      Effect.gen(function* () {
        const pi = yield* HermeticPi.make()
        const file = Path.join(pi.sessionDir, "large.jsonl")
        yield* write(file, { entries: 1000, seed: 3, compactEvery: 300, cwd: pi.cwd })
        assert.strictEqual((yield* pi.prompt(version, file, "go on")).exitCode, 0)
        const [request, ...more] = yield* pi.requests
        assert.deepStrictEqual(more, [])
        const calls = request?.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))
        const results = request?.messages.flatMap(({ tool_call_id = [] }) => tool_call_id)
        assert.isAbove(results?.length ?? 0, 50)
        assert.deepStrictEqual(results, calls)
      }),
    timeout
  )
})
