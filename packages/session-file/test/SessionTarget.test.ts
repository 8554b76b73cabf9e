/** Writing sessions over absent, older, newer and other targets. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem as FS } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionTarget } from "../src/SessionTarget.ts"

const header = (id: string) =>
  `{"type":"session","version":3,"id":"${id}","timestamp":"2026-05-31T10:12:13.456Z","cwd":"/x"}\n`
const entry = (id: string, parentId: string | null) =>
  `${JSON.stringify({ type: "custom", customType: "t", id, parentId })}\n`
const text = header("s") + entry("a", null) + entry("b", "a")
const session = Session.readText(text)

const write = (target: string, options?: { readonly force?: boolean }, what = session) =>
  Effect.flatMap(SessionTarget, (service) => service.write(what, options)).pipe(
    Effect.provide(SessionTarget.layerFile(target)),
    Effect.provide(NodeServices.layer)
  )

const read = (target: string) => FileSystem.readFileSync(target, "utf8")

describe("SessionTarget", () => {
  it.effect("creates the file and the directories above it", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "a/b/s.jsonl")
      assert.deepStrictEqual(yield* write(target), { path: target, outcome: "created" })
      assert.strictEqual(read(target), text)
      assert.deepStrictEqual(FileSystem.readdirSync(Path.dirname(target)), ["s.jsonl"], "no temporary file is left")
    })
  )

  it.effect("extends a target that is any beginning of the session", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "s.jsonl")
      for (let length = 0; length < text.length; length++) {
        FileSystem.writeFileSync(target, text.slice(0, length))
        assert.strictEqual((yield* write(target)).outcome, "extended")
        assert.strictEqual(read(target), text)
      }
      assert.strictEqual((yield* write(target)).outcome, "unchanged")
    })
  )

  it.effect("does not change a target that Pi has extended", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "s.jsonl")
      FileSystem.writeFileSync(target, text + entry("c", "b"))
      assert.strictEqual((yield* write(target)).outcome, "ahead")
      assert.strictEqual((yield* write(target, { force: true })).outcome, "ahead")
      assert.strictEqual(read(target), text + entry("c", "b"))
    })
  )

  it.effect("rejects a diverged target with line and byte, and with force moves it aside", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "s.jsonl")
      const other = header("s") + entry("a", null) + entry("x", "a")
      FileSystem.writeFileSync(target, other)
      const refused = yield* Effect.flip(write(target))
      if (refused._tag !== "TargetDiverged") return assert.fail(refused._tag)
      const at = [...text].findIndex((char, index) => char !== other[index])
      assert.deepStrictEqual([refused.why, refused.line, refused.byteOffset], ["diverged", 3, at])
      assert.include(refused.message, "--force")
      assert.strictEqual(read(target), other)

      FileSystem.writeFileSync(`${target}.aside-1`, "taken")
      const forced = yield* write(target, { force: true })
      assert.deepStrictEqual(forced, { path: target, outcome: "replaced", movedAside: `${target}.aside-2` })
      assert.deepStrictEqual(
        [read(target), read(`${target}.aside-2`), read(`${target}.aside-1`)],
        [text, other, "taken"]
      )
    })
  )

  it.effect("distinguishes another session from a file that is not a session", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "s.jsonl")
      FileSystem.writeFileSync(target, header("other"))
      const another = yield* Effect.flip(write(target))
      assert.strictEqual(another._tag === "TargetDiverged" && another.why, "another-session")
      FileSystem.writeFileSync(target, "notes\n")
      const notes = yield* Effect.flip(write(target))
      assert.strictEqual(notes._tag === "TargetDiverged" && notes.why, "not-a-session")
      assert.strictEqual(read(target), "notes\n")
    })
  )

  it.effect("gives a file in a directory Pi's name", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const written = yield* Effect.flatMap(SessionTarget, (service) => service.write(session)).pipe(
        Effect.provide(SessionTarget.layerDirectory(dir)),
        Effect.provide(NodeServices.layer)
      )
      assert.strictEqual(written.path, Path.join(dir, "2026-05-31T10-12-13-456Z_s.jsonl"))
    })
  )

  it.live("is safe when many programs write at once", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      const all = yield* Effect.all(
        Array.from({ length: 20 }, () => write(target)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(all.filter(({ outcome }) => outcome === "created").length, 1)
      assert.isTrue(all.every(({ outcome }) => outcome === "created" || outcome === "unchanged"))
      assert.strictEqual(read(target), text)
      assert.deepStrictEqual(FileSystem.readdirSync(dir), ["s.jsonl"])
    })
  )

  it.effect("writes through a link", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      FileSystem.writeFileSync(Path.join(dir, "real.jsonl"), "")
      FileSystem.symlinkSync("real.jsonl", Path.join(dir, "link.jsonl"))
      yield* write(Path.join(dir, "link.jsonl"))
      assert.isTrue(FileSystem.lstatSync(Path.join(dir, "link.jsonl")).isSymbolicLink())
      assert.strictEqual(read(Path.join(dir, "real.jsonl")), text)
    })
  )

  it.effect("writes through a link to a file that does not exist yet", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      FileSystem.symlinkSync("later.jsonl", Path.join(dir, "link.jsonl"))
      const written = yield* write(Path.join(dir, "link.jsonl"))
      assert.deepStrictEqual(written, { path: Path.join(dir, "later.jsonl"), outcome: "created" })
    })
  )

  it.effect("rejects headers whose id or time leads out of the directory", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      for (const [id, timestamp] of [
        ["x/../../../pwned", "2026-05-31T10:12:13.456Z"],
        ["s", "2026/05/31"]
      ]) {
        const hostile = Session.readText(
          `${JSON.stringify({ type: "session", version: 3, id, timestamp, cwd: "/x" })}\n`
        )
        const error = yield* Effect.flip(Effect.flatMap(SessionTarget, (service) => service.write(hostile))).pipe(
          Effect.provide(SessionTarget.layerDirectory(Path.join(dir, "in"))),
          Effect.provide(NodeServices.layer)
        )
        assert.include(error.message, "path separator")
      }
      assert.deepStrictEqual(FileSystem.readdirSync(dir), [])
    })
  )

  it.effect("does not overwrite a target that Pi extends while it is being compared", () =>
    Effect.gen(function* () {
      const target = Path.join(yield* temporaryFolder, "s.jsonl")
      FileSystem.writeFileSync(target, header("s"))
      let stats = 0
      const racing = Effect.map(FS.FileSystem, (fs) =>
        FS.FileSystem.of({
          ...fs,
          // The target is checked again right before it is replaced.
          stat: (path) =>
            Effect.suspend(() => {
              if (path === target && ++stats === 2) FileSystem.appendFileSync(target, entry("pi", null))
              return fs.stat(path)
            })
        })
      )
      const error = yield* Effect.flip(
        Effect.flatMap(SessionTarget, (service) => service.write(session)).pipe(
          Effect.provide(SessionTarget.layerFile(target)),
          Effect.provideServiceEffect(FS.FileSystem, racing),
          Effect.provide(NodeServices.layer)
        )
      )
      assert.strictEqual(error._tag, "TargetDiverged")
      assert.strictEqual(read(target), header("s") + entry("pi", null))
    })
  )
})
