/** Resolves every form of reference, and reports missing and ambiguous ones. */
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SessionReference from "../src/SessionReference.ts"
import { fast, inEnvironment } from "./support/catalogLayer.ts"

const bench = Effect.gen(function* () {
  const pi = PiHome.make(yield* memoryFolder)
  const resolve = (reference: string) =>
    SessionReference.resolve(reference, { cwd: pi.home }).pipe(inEnvironment(pi.usual.variables), Effect.provide(fast))
  return { pi, resolve }
})

describe("SessionReference", () => {
  it.live("resolves an id, a unique prefix of it, and a prefix of a file name", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      const ids = pi.usual.sessions.map((session) => session.id)
      for (const { id, path } of pi.usual.sessions.slice(0, 6)) {
        assert.strictEqual((yield* resolve(id)).path, path)
        const enough = [...id].findIndex(
          (_, at) => ids.filter((other) => other.startsWith(id.slice(0, at))).length === 1
        )
        assert.strictEqual((yield* resolve(id.slice(0, enough))).path, path)
        assert.strictEqual((yield* Effect.flip(resolve(id.slice(0, enough - 1))))._tag, "AmbiguousSession")
      }
      assert.strictEqual(
        (yield* resolve("renamed")).id,
        pi.usual.sessions.find(({ path }) => path.endsWith("renamed.jsonl"))?.id
      )
    }).pipe(Effect.scoped)
  )

  it.live("resolves a path in every form, and a directory with one session", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      const { path } = pi.usual.sessions.find((session) => session.path.endsWith("/g.jsonl"))!
      for (const reference of [path, Path.relative(pi.home, path), path.replace(pi.home, "~"), Path.dirname(path)]) {
        assert.strictEqual((yield* resolve(reference)).path, path, reference)
      }
      const bare = Path.join(pi.home, "copy")
      Fs.copyFileSync(path, bare)
      assert.strictEqual((yield* resolve("copy")).path, bare, "a file in the working directory, without an extension")
    }).pipe(Effect.scoped)
  )

  it.live("prefers an exact id to ids that start with it", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      for (const id of ["short", "shorter"]) {
        Fs.writeFileSync(Path.join(pi.sessionsRoot, `${id}-file.jsonl`), `${JSON.stringify({ type: "session", id })}\n`)
      }
      assert.strictEqual((yield* resolve("short")).id, "short")
      assert.strictEqual((yield* Effect.flip(resolve("shor")))._tag, "AmbiguousSession")
    }).pipe(Effect.scoped)
  )

  it.live("asks for the path if two sessions have the same id", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      const [first] = pi.usual.sessions
      Fs.copyFileSync(first!.path, Path.join(pi.sessionsRoot, "copy.jsonl"))
      const [line] = (yield* Effect.flip(resolve(first!.id))).message.split("\n")
      assert.match(line ?? "", /may be one of 2 sessions; they have one id, so give the path:$/)
    }).pipe(Effect.scoped)
  )

  it.live("reads an explicitly named file beyond 1 MiB to find its header, as Pi does", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      const header = { type: "session", version: 3, id: "long", cwd: "/w", more: "x".repeat(3 << 20) }
      const path = Path.join(pi.sessionsRoot, "long header.jsonl")
      Fs.writeFileSync(path, `not JSON\n${JSON.stringify(header)}\n{"type":"message","id":"a","parentId":null}\n`)
      const { cwd, format, id, sizeBytes } = yield* resolve(path)
      assert.deepStrictEqual([cwd, format, id, sizeBytes], ["/w", "jsonl", "long", Fs.statSync(path).size])
      const text = `${JSON.stringify({ type: "message", id: "x".repeat(3 << 20) })}\n${JSON.stringify(header)}\n`
      Fs.writeFileSync(path, text)
      assert.include((yield* Effect.flip(resolve(path))).message, "no session header; pi-sessions doctor")
    }).pipe(Effect.scoped)
  )

  it.live("distinguishes an unreadable file from one that is not a session", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      const path = Path.join(pi.sessionsRoot, "headless.jsonl")
      Fs.writeFileSync(path, '{"type":"message","id":"a","parentId":null}\n')
      const none = yield* Effect.flip(resolve(path))
      assert.strictEqual(none._tag, "SessionNotFound")
      assert.strictEqual(
        none.message,
        `${path}: the first line is no session header; pi-sessions doctor ${path} shows what is in it`
      )
      const loop = Path.join(pi.sessionsRoot, "loop of one.jsonl")
      Fs.symlinkSync(loop, loop)
      const refused = yield* Effect.flip(resolve(loop))
      assert.strictEqual(refused._tag, "SessionFileError")
    }).pipe(Effect.scoped)
  )

  it.live("lists candidates if there are several, and the searched directories if there is none", () =>
    Effect.gen(function* () {
      const { pi, resolve } = yield* bench
      const many = yield* Effect.flip(resolve("019e5691"))
      assert.strictEqual(many._tag, "AmbiguousSession")
      const lines = many.message.split("\n")
      assert.strictEqual(lines.length, 12)
      assert.strictEqual(lines.at(-1), `  and ${pi.usual.sessions.length - 10} more`)
      const [first] = pi.usual.sessions
      assert.include(many.message, `${first?.id}  ${first?.timestamp}  ${first?.cwd}  ${first?.path}`)
      const none = yield* Effect.flip(resolve("unknown"))
      assert.strictEqual(none._tag, "SessionNotFound")
      assert.include(none.message, pi.sessionsRoot)
      assert.include(none.message, `${pi.usual.sessions.length} sessions`)
      const text = yield* Effect.flip(resolve(pi.others.find((path) => path.endsWith("text.jsonl"))!))
      assert.include(text.message, "no line is a session header")
      assert.include((yield* Effect.flip(resolve("./gone.jsonl"))).message, "no such file or directory")
      assert.strictEqual((yield* Effect.flip(resolve("")))._tag, "SessionNotFound")
    }).pipe(Effect.scoped)
  )
})
