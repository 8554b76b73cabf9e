/** Transcripts of Claude Code as a source of sessions. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Stream } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type SessionLine } from "@pi-sessions/core/SessionLine"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ClaudeCodeSource from "../src/ClaudeCodeSource.ts"
import { SessionSource } from "../src/SessionSource.ts"

const FIXTURES = Path.resolve(import.meta.dirname, "../../../fixtures")

const plain = (path: string) => SessionSource.layerPaths([path])
const over = (path: string) => ClaudeCodeSource.layer.pipe(Layer.provide(plain(path)))

type Source = SessionSource["Service"]

const run = <A, E>(
  layer: ReturnType<typeof plain>,
  use: (source: Source, sessions: Effect.Success<Source["list"]>["sessions"]) => Effect.Effect<A, E>
) =>
  Effect.flatMap(SessionSource, (source) => Effect.flatMap(source.list, ({ sessions }) => use(source, sessions))).pipe(
    Effect.provide(layer),
    Effect.provide(NodeServices.layer)
  )

const texts = (lines: Iterable<SessionLine>): ReadonlyArray<string> => [...lines].map(({ text }) => text)

/** The header, lines and session of each file of a source. */
const everything = (layer: ReturnType<typeof plain>) =>
  run(layer, (source, sessions) =>
    Effect.forEach(sessions, (ref) =>
      Effect.gen(function* () {
        const header = yield* Effect.result(source.header(ref))
        const session = yield* Effect.result(source.read(ref))
        return {
          path: ref.path,
          header: header._tag === "Success" ? header.success.text : header.failure._tag,
          session: session._tag === "Success" ? texts(session.success.lines) : session.failure._tag,
          diagnostics: session._tag === "Success" ? session.success.diagnostics : [],
          lines: texts(yield* Stream.runCollect(source.lines(ref)))
        }
      })
    )
  )

describe("ClaudeCodeSource", () => {
  it.effect("does not change files that are not transcripts", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      for (const folder of ["sessions", "damaged", "unsound"]) {
        Fs.cpSync(Path.join(FIXTURES, folder), Path.join(dir, folder), { recursive: true })
      }
      Fs.writeFileSync(Path.join(dir, "other.jsonl"), '{"type":"user","text":"somebody else"}\n'.repeat(300))
      Fs.writeFileSync(Path.join(dir, "empty.jsonl"), "")
      const found = yield* everything(over(dir))
      assert.isAbove(found.length, 40)
      assert.deepStrictEqual(found, yield* everything(plain(dir)))
    })
  )

  it.effect("fails for a transcript that compacts one context over and over, which would fill the memory", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const line = (at: number, more: object) =>
        `${JSON.stringify({ uuid: `u${at}`, sessionId: "s", timestamp: "2026-03-02T09:00:00.000Z", ...more })}\n`
      const messages = Array.from({ length: 2000 }, (_, at) =>
        line(at, { type: "user", parentUuid: at === 0 ? null : `u${at - 1}`, message: { role: "user", content: "x" } })
      )
      const compaction = { type: "system", subtype: "compact_boundary", parentUuid: null, logicalParentUuid: "u1999" }
      const compactions = Array.from({ length: 1000 }, (_, at) => line(2000 + at, compaction))
      Fs.writeFileSync(Path.join(dir, "once.jsonl"), [...messages, compactions[0]].join(""))
      Fs.writeFileSync(Path.join(dir, "twice.jsonl"), [...messages, ...compactions].join(""))
      yield* run(over(dir), (source, [once, twice]) =>
        Effect.gen(function* () {
          if (once === undefined || twice === undefined) throw new Error("no files")
          yield* source.read(once)
          const error = yield* Effect.flip(source.read(twice))
          assert.include(error.message, "its compactions need more than")
          assert.strictEqual(error.message, (yield* Effect.flip(Stream.runCollect(source.lines(twice)))).message)
        })
      )
    })
  )

  it.effect("reads transcripts as sessions, the same in every way of reading", () =>
    Effect.gen(function* () {
      const found = yield* everything(over(Path.join(FIXTURES, "claude-code")))
      assert.strictEqual(found.length, 3)
      for (const { header, lines, path, session } of found) {
        assert.include(header, '"harness":"claude-code"', path)
        assert.strictEqual(lines[0], header, path)
        assert.deepStrictEqual(session, lines, path)
        assert.isAbove(lines.length, 4, path)
      }
      for (const { header, session } of yield* everything(plain(Path.join(FIXTURES, "claude-code")))) {
        assert.deepStrictEqual([header, session], ["NotASession", "NotASession"])
      }
    })
  )

  it.effect("skips other lines before a conversation, but not all of a large file", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const snapshot = '{"type":"file-history-snapshot","messageId":"x","snapshot":{}}\n'
      const user =
        '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}\n'
      Fs.writeFileSync(Path.join(dir, "a.jsonl"), snapshot.repeat(200) + user)
      Fs.writeFileSync(Path.join(dir, "b.jsonl"), snapshot.repeat(300) + user)
      const [near, far] = yield* everything(over(dir))
      assert.include(near?.header, '"id":"s"')
      assert.strictEqual(far?.session, "NotASession")
      assert.strictEqual(far?.lines.length, 301)
    })
  )

  it.effect("fails for unreadable files as the source below it does", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const path = Path.join(dir, "gone.jsonl")
      Fs.writeFileSync(path, "")
      const failed = yield* run(over(dir), (source, [ref]) => {
        Fs.rmSync(path)
        return ref === undefined ? Effect.die("nothing was found") : Effect.flip(source.read(ref))
      })
      assert.strictEqual(failed._tag, "SessionFileError")
    })
  )
})
