/** Lossless and semantic hydration from thread files to session files. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
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
  it.effect("gives the original file back byte for byte from raw lines in any order, with keepCwd", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const target = Path.join(dir, "s.jsonl")
      const done = yield* hydrate(fixture("raw-lines.jsonl"), dir, target, { mode: "lossless", keepCwd: true })
      assert.deepStrictEqual([done.mode, done.outcome, done.path], ["lossless", "created", target])
      assert.deepStrictEqual(FileSystem.readFileSync(target), original)
    })
  )

  it.effect("changes only the header's cwd without keepCwd", () =>
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

  it.effect("hydrates semantically when a raw line is missing or damaged, and reports which", () =>
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

  it.effect("changes nothing the second time", () =>
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

  it.effect("writes the cwd with links resolved", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      FileSystem.mkdirSync(Path.join(dir, "real"))
      FileSystem.symlinkSync(Path.join(dir, "real"), Path.join(dir, "link"))
      const done = yield* hydrate(fixture("rename-module.jsonl"), Path.join(dir, "link"), Path.join(dir, "s.jsonl"))
      assert.strictEqual(done.cwd, Path.join(dir, "real"))
    })
  )

  it.effect("fails with a remedy without a thread, a turn, a directory or the session", () =>
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

  const rawLine = (n: number, line: string, generation = 0, sessionId = "s1") => {
    const sha256 = createHash("sha256").update(line).digest("hex")
    const type = n === 0 ? "pi.session_header" : "pi.session_entry"
    return { id: `raw:${sessionId}:${generation}:${n}`, type, payload: { sessionId, generation, seq: n, line, sha256 } }
  }
  const headerOf = (id: string) =>
    JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-05-31T10:00:00.000Z", cwd: "/x" })
  const message = (id: string, parentId: string | null, role: string, text: string) =>
    JSON.stringify({
      type: "message",
      id,
      parentId,
      timestamp: "2026-05-31T10:00:01.000Z",
      message: {
        role,
        content: [{ type: "text", text }],
        ...(role === "assistant" ? { usage: {}, stopReason: "stop" } : {})
      }
    })
  const threadOf = (dir: string, entries: ReadonlyArray<unknown>): string => {
    const file = Path.join(dir, "thread.jsonl")
    FileSystem.writeFileSync(file, entries.map((one) => `${JSON.stringify(one)}\n`).join(""))
    return file
  }
  const textsOf = (file: string): ReadonlyArray<string> =>
    [...FileSystem.readFileSync(file, "utf8").matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text ?? "")

  it.effect("uses the highest generation", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const thread = threadOf(dir, [
        rawLine(0, headerOf("s1"), 1),
        rawLine(1, message("b", null, "user", "new"), 1),
        rawLine(0, headerOf("s1")),
        rawLine(1, message("a", null, "user", "old"))
      ])
      yield* hydrate(thread, dir, Path.join(dir, "s.jsonl"), { mode: "lossless" })
      assert.deepStrictEqual(textsOf(Path.join(dir, "s.jsonl")), ["new"])
    })
  )

  it.effect("uses surviving raw lines instead of their projections, on the newest branch", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const lines = [
        message("u1", null, "user", "first"),
        message("a1", "u1", "assistant", "one"),
        message("x1", "a1", "user", "abandoned"),
        message("u2", "a1", "user", "second"),
        message("a2", "u2", "assistant", "lost line"),
        message("u3", "a2", "user", "third"),
        message("a3", "u3", "assistant", "three")
      ]
      const raw = lines.map((line, index) => rawLine(index + 1, line)).filter((_, index) => index !== 4)
      const thread = threadOf(dir, [
        { id: "c1", type: "chat", payload: { role: "user", text: "first" } },
        ...raw.slice(0, 3),
        { id: "p1", type: "pi.assistant", payload: { content: [{ type: "text", text: "one" }] } },
        ...raw.slice(3),
        { id: "c2", type: "chat", payload: { role: "user", text: "only a chat" } }
      ])
      const done = yield* hydrate(thread, dir, Path.join(dir, "s.jsonl"))
      assert.strictEqual(done.mode, "semantic")
      assert.include(done.warnings.join(), "line 5 after the header is missing")
      assert.deepStrictEqual(
        [...FileSystem.readFileSync(Path.join(dir, "s.jsonl"), "utf8").matchAll(/"(?:text|content)":"([^"]*)"/g)].map(
          ([, text]) => text
        ),
        ["first", "one", "second", "third", "three", "only a chat"]
      )
    })
  )

  it.effect("keeps a raw line without optional fields: a time, a compaction's first kept entry", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const thread = threadOf(dir, [
        rawLine(0, headerOf("s1")),
        rawLine(2, JSON.stringify({ type: "message", id: "u", message: { role: "user", content: "undated" } })),
        rawLine(3, JSON.stringify({ type: "compaction", id: "c", parentId: "u", summary: "the gist" }))
      ])
      const done = yield* hydrate(thread, dir, Path.join(dir, "s.jsonl"))
      assert.strictEqual(done.mode, "semantic")
      const written = FileSystem.readFileSync(Path.join(dir, "s.jsonl"), "utf8")
      assert.include(written, "undated")
      assert.include(written, "the gist")
    })
  )

  it.effect("warns of turns after the last raw line, and of damage in the file", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const thread = threadOf(dir, [
        rawLine(0, headerOf("s1")),
        rawLine(1, message("a", "gone", "user", "hi")),
        { id: "p", type: "pi.assistant", payload: { content: "later" } }
      ])
      const { mode, warnings } = yield* hydrate(thread, dir, Path.join(dir, "s.jsonl"))
      assert.strictEqual(mode, "lossless")
      assert.include(warnings.join(), "after the last raw line, not in the file: 1")
      assert.include(warnings.join(), "unknown-parent")
    })
  )

  it.effect("refuses lossless hydration when the thread certainly lacks lines, and warns when it may lack lines", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const at = (second: number) => `2026-01-01T00:00:${second.toString().padStart(2, "0")}.000Z`
      const raw = (seq: number, line: string, second: number, generation = 0) => ({
        ...rawLine(seq, line, generation),
        createdAt: at(second)
      })
      const held = [
        raw(0, headerOf("s1"), 1),
        raw(1, message("a", null, "user", "hi"), 2),
        raw(2, message("b", "a", "assistant", "hello"), 3),
        { id: "p", type: "pi.assistant", payload: { content: [{ type: "text", text: "hello" }] } }
      ]
      const context = (second: number, afterEntryId: string | undefined, sessionId = "s1") => ({
        id: `c${second}`,
        type: "pi.request_context",
        createdAt: at(second),
        payload: { sessionId, systemPrompt: "", tools: [], afterEntryId, sha256: "" }
      })
      const chunk = (messageId: string) => ({
        id: "k",
        type: "pi.chunk",
        payload: { messageId, idx: 0, delta: { type: "text", text: "I beg" } }
      })
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<object>, boolean | undefined, string]> = [
        ["nothing", [], undefined, ""],
        ["a context at a line that is held", [context(9, "b")], undefined, ""],
        ["a context at the start", [context(9, undefined)], undefined, ""],
        ["a context older than the last line", [context(2, "x")], undefined, ""],
        ["a context at a line that is not held", [context(9, "x")], true, "entry x"],
        [
          "a context that comes before its line",
          [context(9, "c"), raw(3, message("c", "b", "user", "more"), 9)],
          undefined,
          ""
        ],
        ["a context of a session without lines", [context(9, "x", "s2")], false, "session s2"],
        ["an answer", [{ id: "q", type: "pi.assistant", payload: { content: "later" } }], true, "turns of Pi"],
        ["a result", [{ id: "q", type: "pi.tool_result", payload: { toolCallId: "t" } }], true, "turns of Pi"],
        ["a compaction", [{ id: "q", type: "pi.compaction", payload: { summary: "gist" } }], true, "turns of Pi"],
        ["a chat", [{ id: "q", type: "chat", payload: { role: "user", text: "pending" } }], false, "chats"],
        [
          "a chat of an agent",
          [{ id: "q", type: "chat", payload: { role: "assistant", text: "new" } }],
          false,
          "chats"
        ],
        [
          "a chat that repeats",
          [{ id: "q", type: "chat", payload: { role: "assistant", text: "hello " } }],
          undefined,
          ""
        ],
        ["half an answer", [chunk("s1-7")], false, "streamed"],
        ["half an answer of another session", [chunk("s2-7")], undefined, ""],
        [
          "the last turn of another session",
          [
            rawLine(0, headerOf("s2"), 0, "s2"),
            rawLine(1, message("z", null, "assistant", "of s2"), 0, "s2"),
            { id: "q", type: "pi.assistant", payload: { content: [{ type: "text", text: "of s2" }] } }
          ],
          undefined,
          ""
        ],
        [
          "a generation of which half was sent",
          [raw(0, headerOf("s1"), 1, 1), raw(1, message("a", null, "user", "hi"), 2, 1)],
          true,
          "earlier generations"
        ],
        [
          "a generation that went on",
          [
            raw(0, headerOf("s1"), 1, 1),
            raw(1, message("a", null, "user", "hi"), 2, 1),
            raw(2, message("c", "a", "user", "on"), 9, 1)
          ],
          undefined,
          ""
        ]
      ]
      for (const [name, more, certain, words] of cases) {
        const thread = threadOf(dir, [...held, ...more])
        const target = Path.join(dir, `${name}.jsonl`)
        const auto = yield* hydrate(thread, dir, target, { sessionId: "s1" })
        assert.deepStrictEqual(
          [auto.mode, auto.behind.map((lag) => lag.certain)],
          ["lossless", certain === undefined ? [] : [certain]],
          name
        )
        if (certain !== undefined) assert.include(auto.warnings.join(), "behind the session file", name)
        const lossless = yield* Effect.result(
          hydrate(thread, dir, `${target}.x`, { sessionId: "s1", mode: "lossless" })
        )
        assert.strictEqual(lossless._tag, certain === true ? "Failure" : "Success", name)
        assert.strictEqual(FileSystem.existsSync(`${target}.x`), certain !== true, name)
        if (lossless._tag === "Failure") assert.include(lossless.failure.message, words, name)
        else assert.include(lossless.success.warnings.join(), words, name)
      }
    })
  )

  it.effect("hydrates very many lines, and refuses absurd seqs and ids", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder
      const line = message("a", null, "user", "hi")
      const count = Dose.of("PI_SESSIONS_LINES", { test: 10_000, campaign: 150_000 })
      const many = Array.from({ length: count }, (_, n) => (n === 0 ? rawLine(0, headerOf("s1")) : rawLine(n, line)))
      const done = yield* hydrate(threadOf(dir, many), dir, Path.join(dir, "s.jsonl"), { mode: "lossless" })
      assert.strictEqual(done.entries, count - 1)
      const far = threadOf(dir, [rawLine(0, headerOf("s1")), rawLine(2_000_000_000, line)])
      const error = yield* Effect.flip(hydrate(far, dir, Path.join(dir, "t.jsonl"), { mode: "lossless" }))
      assert.include(error.message, "lines 1 to 1999999999 after the header are missing")
      const bad = threadOf(dir, [rawLine(0, headerOf("../x"))])
      const refused = yield* Effect.flip(hydrate(bad, dir, Path.join(dir, "t.jsonl"), { mode: "lossless" }))
      assert.include(refused.message, "breaks Pi's rule")
    })
  )
})
