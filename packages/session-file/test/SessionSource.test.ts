/** Listing and reading session files. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Stream } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { SessionSource } from "../src/SessionSource.ts"

const header = '{"type":"session","version":3,"id":"s","cwd":"/x"}\n'

const withSource = <A, E>(
  paths: ReadonlyArray<string>,
  use: (source: SessionSource["Service"]) => Effect.Effect<A, E>
) =>
  Effect.flatMap(SessionSource, use).pipe(
    Effect.provide(SessionSource.layerPaths(paths)),
    Effect.provide(NodeServices.layer)
  )

describe("SessionSource", () => {
  it.effect("finds *.jsonl at any depth, once, sorted, also where links form cycles", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      FileSystem.mkdirSync(Path.join(dir, "a/b/c"), { recursive: true })
      for (const part of ["s.v2/index", "t.v2/index", "t.v2/segments"]) {
        FileSystem.mkdirSync(Path.join(dir, part), { recursive: true })
      }
      for (const name of [
        "z.jsonl",
        "a/y.jsonl",
        "a/b/c/x.jsonl",
        "a/notes.txt",
        "s.v2/index/offsets.jsonl",
        "s.v2/manifest.json",
        "t.v2/segments/0000000000000001.seg",
        "t.v2/index/offsets.jsonl"
      ]) {
        FileSystem.writeFileSync(Path.join(dir, name), header)
      }
      FileSystem.symlinkSync(dir, Path.join(dir, "a/b/up"))
      FileSystem.symlinkSync("z.jsonl", Path.join(dir, "zz.jsonl"))
      FileSystem.symlinkSync("nowhere", Path.join(dir, "broken.jsonl"))
      const listing = yield* withSource([dir, Path.join(dir, "z.jsonl")], (source) => source.list)
      assert.deepStrictEqual(
        listing.sessions.map(({ path }) => Path.relative(dir, path)),
        ["a/b/c/x.jsonl", "a/y.jsonl", "z.jsonl"]
      )
      assert.deepStrictEqual(
        listing.skipped.map(({ path }) => Path.basename(path)),
        ["broken.jsonl"]
      )
      assert.deepStrictEqual(
        listing.containers.map((path) => Path.basename(path)),
        ["s.v2", "t.v2"]
      )
    })
  )

  it.effect("reads a given file of any name, and fails for a missing path", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      FileSystem.writeFileSync(Path.join(dir, "backup"), header)
      const listing = yield* withSource([Path.join(dir, "backup")], (source) => source.list)
      assert.strictEqual(listing.sessions.length, 1)
      const missing = yield* Effect.flip(withSource([Path.join(dir, "none")], (source) => source.list))
      assert.include(missing.message, "no such file or directory")
    })
  )

  it.live("reads a file of many chunks as one of a single chunk", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "large.jsonl")
      yield* Effect.promise(() => LargeSession.write(file, { entries: 4000, seed: 1 }))
      const bytes = FileSystem.readFileSync(file)
      const whole = Session.read(bytes)
      const [session, lines, head] = yield* withSource([file], (source) =>
        Effect.gen(function* () {
          const ref = (yield* source.list).sessions[0]!
          return [
            yield* source.read(ref),
            yield* Stream.runCollect(source.lines(ref)),
            yield* source.header(ref)
          ] as const
        })
      )
      assert.isAbove(bytes.length, 2 << 20)
      assert.deepStrictEqual(Buffer.from(Session.toBytes(session)), bytes)
      assert.deepStrictEqual(
        session.tree.getEntries().map(({ id }) => id),
        whole.tree.getEntries().map(({ id }) => id)
      )
      assert.deepStrictEqual(
        lines.map(({ text }) => text),
        whole.lines.map(({ text }) => text)
      )
      assert.strictEqual(head.text, whole.header?.text)
    })
  )

  it.effect("fails for a file that is not a session", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "x.jsonl")
      FileSystem.writeFileSync(file, "hello\n")
      const error = yield* Effect.flip(
        withSource([file], (source) => Effect.flatMap(source.list, ({ sessions }) => source.read(sessions[0]!)))
      )
      assert.strictEqual(error._tag, "NotASession")
      assert.include(error.message, `${file}:1 (byte 0)`)
    })
  )
})
