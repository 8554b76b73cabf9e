/** Files are written whole or not at all, with their permissions. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SafeWrite from "../src/SafeWrite.ts"

/** A file system that records its calls in order. */
const recording = (log: Array<string>) =>
  Effect.map(FileSystem.FileSystem, (fs) =>
    FileSystem.FileSystem.of({
      ...fs,
      open: (path, options) =>
        Effect.map(fs.open(path, options), (file) => {
          const name = Path.basename(path).endsWith(".tmp") ? "temporary" : Path.basename(path)
          return {
            ...file,
            writeAll: (buffer) => Effect.tap(file.writeAll(buffer), () => Effect.sync(() => log.push(`write ${name}`))),
            sync: Effect.tap(file.sync, () => Effect.sync(() => log.push(`sync ${name}`)))
          }
        }),
      rename: (from, to) => Effect.tap(fs.rename(from, to), () => Effect.sync(() => log.push("rename"))),
      link: (from, to) => Effect.tap(fs.link(from, to), () => Effect.sync(() => log.push("link")))
    })
  )

describe("SafeWrite", () => {
  for (const mode of ["create", "replace"] as const) {
    it.effect(`${mode}: data is durable before the name, the name before it returns`, () =>
      Effect.gen(function* () {
        const dir = yield* temporaryFolder
        Fs.mkdirSync(Path.join(dir, "d"))
        const log: Array<string> = []
        const target = Path.join(dir, "d/s.jsonl")
        yield* SafeWrite.write(target, [Buffer.from("a"), Buffer.from("b")], mode).pipe(
          Effect.provideServiceEffect(FileSystem.FileSystem, recording(log))
        )
        assert.deepStrictEqual(log, [
          "write temporary",
          "sync temporary",
          mode === "create" ? "link" : "rename",
          "sync d"
        ])
        assert.strictEqual(Fs.readFileSync(target, "utf8"), "ab")
      }).pipe(Effect.provide(NodeServices.layer))
    )
  }

  it.effect("has the given permissions from its creation, whatever the old file's were", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      Fs.writeFileSync(target, "old", { mode: 0o644 })
      const seen: Array<number> = []
      const looking = Effect.map(FileSystem.FileSystem, (fs) =>
        FileSystem.FileSystem.of({
          ...fs,
          rename: (from, to) =>
            Effect.andThen(
              Effect.sync(() => seen.push(Fs.statSync(from).mode & 0o777)),
              fs.rename(from, to)
            )
        })
      )
      yield* SafeWrite.write(target, [Buffer.from("new")], "replace", { fileMode: 0o600 }).pipe(
        Effect.provideServiceEffect(FileSystem.FileSystem, looking)
      )
      // From its creation, not only at the end.
      assert.deepStrictEqual([...seen, Fs.statSync(target).mode & 0o777], [0o600, 0o600])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("does not change an existing target in mode create, and leaves no temporary file", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      Fs.writeFileSync(target, "old")
      const error = yield* Effect.flip(SafeWrite.write(target, [Buffer.from("new")], "create"))
      assert.strictEqual(error.reason._tag, "AlreadyExists")
      assert.strictEqual(Fs.readFileSync(target, "utf8"), "old")
      assert.deepStrictEqual(Fs.readdirSync(dir), ["s.jsonl"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("writes many small and large pieces whole", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "s.jsonl")
      const pieces = [10, 1 << 20, 3, (1 << 20) + 1, 999_999, 0, 77].map((size, n) => Buffer.alloc(size, n + 65))
      yield* SafeWrite.write(target, pieces, "create")
      assert.isTrue(Fs.readFileSync(target).equals(Buffer.concat(pieces)))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
