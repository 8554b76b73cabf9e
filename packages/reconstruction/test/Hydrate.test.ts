import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/HermeticPi"
import { Hydrate, type HydrateOptions } from "../src/Hydrate.ts"
import { ThreadSource } from "../src/ThreadSource.ts"

const fixtures = Path.resolve(import.meta.dirname, "../../../fixtures")
const TestLayer = Hydrate.layer.pipe(Layer.provide(ThreadSource.layerFile), Layer.provide(NodeServices.layer))

const hydrate = (thread: string, cwd: string, target: string, options?: HydrateOptions) =>
  Effect.flatMap(Hydrate, (service) => service.hydratePiSessionFromThread(thread, cwd, target, options)).pipe(
    Effect.provide(TestLayer)
  )
const fixture = (name: string) => Path.join(fixtures, "threads", name)
const original = FileSystem.readFileSync(Path.join(fixtures, "sessions/project/branches.jsonl"))

describe("hydratePiSessionFromThread", () => {
  it.effect("gives the original file back byte for byte from raw lines in any order, with its cwd kept", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      const done = yield* hydrate(fixture("raw-lines.jsonl"), dir, target, { mode: "lossless", keepCwd: true })
      assert.deepStrictEqual([done.mode, done.outcome, done.path], ["lossless", "created", target])
      assert.deepStrictEqual(FileSystem.readFileSync(target), original)
    })
  )

  it.effect("changes nothing but the header's cwd otherwise", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      yield* hydrate(fixture("raw-lines.jsonl"), dir, target)
      const [header, ...rest] = FileSystem.readFileSync(target, "utf8").split("\n")
      const [was, ...lines] = original.toString("utf8").split("\n")
      assert.deepStrictEqual(JSON.parse(header!), { ...JSON.parse(was!), cwd: dir })
      assert.deepStrictEqual(rest, lines)
    })
  )

  it.effect("hydrates by meaning when a raw line is missing or damaged, and says which", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const lines = FileSystem.readFileSync(fixture("raw-lines.jsonl"), "utf8").trimEnd().split("\n")
      const chat = JSON.stringify({ id: "c", type: "chat", payload: { role: "user", text: "hi" } })
      const thread = Path.join(dir, "t.jsonl")
      FileSystem.writeFileSync(thread, [chat, ...lines.slice(0, 5), ...lines.slice(6)].join("\n") + "\n")
      const lossless = yield* Effect.flip(hydrate(thread, dir, Path.join(dir, "a.jsonl"), { mode: "lossless" }))
      assert.include(lossless.message, "line 5 after the header is missing")
      const done = yield* hydrate(thread, dir, Path.join(dir, "b.jsonl"))
      assert.strictEqual(done.mode, "semantic")
      assert.include(done.warnings.join(), "line 5 after the header is missing")

      FileSystem.writeFileSync(thread, lines.join("\n").replace("Use jest.", "Use mocha.") + "\n")
      const changed = yield* Effect.flip(hydrate(thread, dir, Path.join(dir, "c.jsonl"), { mode: "lossless" }))
      assert.include(changed.message, "does not match its sha256")
    })
  )

  it.effect("is idempotent", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      yield* hydrate(fixture("rename-module.jsonl"), dir, target)
      const first = FileSystem.readFileSync(target)
      const again = yield* hydrate(fixture("rename-module.jsonl"), dir, target)
      assert.strictEqual(again.outcome, "unchanged")
      assert.deepStrictEqual(FileSystem.readFileSync(target), first)
      assert.deepStrictEqual(FileSystem.readdirSync(dir), ["s.jsonl"])
    })
  )

  it.effect("writes the directory that Pi will see: links resolved", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      FileSystem.mkdirSync(Path.join(dir, "real"))
      FileSystem.symlinkSync(Path.join(dir, "real"), Path.join(dir, "link"))
      const done = yield* hydrate(fixture("rename-module.jsonl"), Path.join(dir, "link"), Path.join(dir, "s.jsonl"))
      assert.strictEqual(done.cwd, Path.join(dir, "real"))
    })
  )

  it.effect("fails with what to do when there is no thread, no turn, no directory or no such session", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      const missing = yield* Effect.flip(hydrate(Path.join(dir, "none.jsonl"), dir, target))
      assert.strictEqual(missing._tag, "ThreadUnavailable")
      assert.include(missing.message, "no such file")
      const empty = yield* Effect.flip(hydrate(Path.join(fixtures, "damaged/not-a-session.jsonl"), dir, target))
      assert.strictEqual(empty._tag, "NothingToHydrate")
      assert.include(empty.message, "not-a-session.jsonl:1 (byte 0): malformed-line")
      const cwd = yield* Effect.flip(hydrate(fixture("rename-module.jsonl"), Path.join(dir, "nowhere"), target))
      assert.strictEqual(cwd._tag, "CwdMissing")
      const session = yield* Effect.flip(hydrate(fixture("raw-lines.jsonl"), dir, target, { sessionId: "other" }))
      assert.strictEqual(session._tag, "SessionNotInThread")
      assert.isFalse(FileSystem.existsSync(target))
    })
  )
})
