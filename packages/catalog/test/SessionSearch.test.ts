/** Searches sessions that each test writes, and the fixtures. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Effect, Fiber, Layer, Result, Stream } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as SessionFork from "@pi-sessions/core/SessionFork"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type CatalogSession, columnsOf } from "../src/CatalogSession.ts"
import { type ByteSink, SearchFiles } from "../src/SearchFiles.ts"
import type { SearchHit } from "../src/SearchHit.ts"
import * as SearchPattern from "../src/SearchPattern.ts"
import type { SearchFilter, SearchNote, SearchQuery } from "../src/SearchQuery.ts"
import { SessionSearch } from "../src/SessionSearch.ts"

const fixtures = Path.resolve(import.meta.dirname, "../../../fixtures")

/** The session as the catalog lists it. */
const sessionAt = (path: string, modifiedMs = 0): CatalogSession => {
  const header = Session.read(Files.readFileSync(path)).header?.decode() ?? {}
  return { path, sizeBytes: Files.statSync(path).size, modifiedMs, format: "jsonl", ...columnsOf(header) }
}

const layerWith = (files: Layer.Layer<SearchFiles>) =>
  SessionSearch.layer.pipe(
    Layer.provide(files),
    Layer.provide(SessionSource.layerPaths([])),
    Layer.provide(NodeServices.layer)
  )

const patternOf = (text: string): SearchPattern.SearchPattern => Result.getOrThrow(SearchPattern.make(text))

const search = (
  text: string,
  query: Omit<SearchQuery, "pattern">,
  files: Layer.Layer<SearchFiles> = SearchFiles.layerNode
): Effect.Effect<ReadonlyArray<SearchHit>> =>
  Effect.flatMap(SessionSearch, (service) =>
    Stream.runCollect(service.search({ ...query, pattern: patternOf(text) }))
  ).pipe(Effect.provide(layerWith(files)))

const textOf = (hit: SearchHit): string => hit.lines.map(({ text }) => text).join("\n")

/** A header and an entry with spaces, as other programs write them. */
const SPACED_HEADER =
  '{"type": "session", "version": 3, "id": "019e5691-...", "timestamp": "2026-05-23T20:41:01.417Z", "cwd": "/home/d/work/python/agentgrep"}'
const spacedEntry = (text: string, more = '"timestamp": "2026-05-23T20:41:05.000Z",'): string =>
  `{"type": "message", "id": "a", "parentId": null, ${more} "message": {"role": "user", "content": [{"type": "text", "text": "${text}"}], "timestamp": 1779999665000}}`

const write = (folder: string, name: string, ...lines: ReadonlyArray<string>): string => {
  const path = Path.join(folder, name)
  Files.writeFileSync(path, lines.map((line) => `${line}\n`).join(""))
  return path
}

const entry = (id: string, parentId: string | null, message: object, second = 0): string =>
  JSON.stringify({
    type: "message",
    id,
    parentId,
    timestamp: `2026-02-01T10:00:${String(second).padStart(2, "0")}.000Z`,
    message
  })
const header = (id: string, more: object = {}): string =>
  JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-02-01T10:00:00.000Z", cwd: "/w", ...more })
const user = (content: string): object => ({ role: "user", content })

describe("search", () => {
  it.live("finds an entry written with spaces, with its own time or else that of its message", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const path = write(folder, "s.jsonl", SPACED_HEADER, spacedEntry("find me"), spacedEntry("find me too", ""))
      const hits = yield* search("find me", { sessions: [sessionAt(path)] })
      assert.deepStrictEqual(
        hits.map((hit) => [hit.kind, hit.timestamp, textOf(hit), hit.session.cwd]),
        [
          ["prompt", "2026-05-28T20:21:05.000Z", "find me too", "/home/d/work/python/agentgrep"],
          ["prompt", "2026-05-23T20:41:05.000Z", "find me", "/home/d/work/python/agentgrep"]
        ]
      )
    })
  )

  it.live("searches the texts of each scope, and no metadata", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const other = (type: string, fields: object): string =>
        JSON.stringify({ type, id: type, parentId: null, ...fields })
      const text = [{ type: "text", text: "fox" }]
      const path = write(
        folder,
        "s.jsonl",
        header("s"),
        entry("u", null, user("fox")),
        entry("a", "u", {
          role: "assistant",
          model: "fox",
          errorMessage: "fox",
          content: [
            { type: "text", text: "fox", textSignature: "fox" },
            { type: "thinking", thinking: "fox", thinkingSignature: "fox" },
            { type: "toolCall", id: "fox", name: "fox", arguments: { fox: ["fox", { deep: "fox" }], n: 1 } }
          ]
        }),
        entry("r", "a", {
          role: "toolResult",
          toolCallId: "fox",
          toolName: "fox",
          content: text,
          details: { diff: "fox" }
        }),
        entry("b", "r", { role: "bashExecution", command: "fox", output: "fox" }),
        entry("i", "b", { role: "user", content: [{ type: "image", data: "fox", mimeType: "fox" }] }),
        entry("y", "i", { role: "system", content: "fox", sections: { tools: "fox", gone: null } }),
        other("compaction", { summary: "fox", details: { readFiles: ["fox"] } }),
        other("branch_summary", { summary: "fox" }),
        other("session_info", { name: "fox" }),
        other("custom_message", { customType: "fox", content: text, details: "fox" }),
        other("custom", { customType: "fox", data: "fox" }),
        other("label", { targetId: "u", label: "fox" }),
        other("model_change", { provider: "fox", modelId: "fox" }),
        other("thinking_level_change", { thinkingLevel: "fox" }),
        other("usage", { kind: "fox", note: "fox" }),
        other("context_edit", { targetId: "u", replacement: { content: "fox" } }),
        other("fox", { summary: "fox", content: "fox" })
      )
      const kinds = (scope: SearchQuery["scope"]) =>
        Effect.map(search("fox", { sessions: [sessionAt(path)], ...(scope === undefined ? {} : { scope }) }), (hits) =>
          hits.map(({ kind }) => kind).sort()
        )
      const spoken = ["assistant", "bash", "bash", "branch_summary", "compaction", "prompt", "thinking"]
      const conversations = [...spoken, "tool_call", "tool_call", "tool_call", "tool_result"].sort()
      assert.deepStrictEqual(yield* kinds(undefined), ["prompt"])
      assert.deepStrictEqual(yield* kinds("conversations"), conversations)
      assert.deepStrictEqual(
        yield* kinds("all"),
        [...conversations, "custom_message", "session_name", "system", "system"].sort()
      )
    })
  )

  it.live("returns the newest first, and stops reading at the limit", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const sessions = [1, 3, 2].map((age) =>
        sessionAt(
          write(
            folder,
            `${age}.jsonl`,
            header(`s${age}`),
            entry("a", null, user(`fox ${age}a`)),
            entry("b", "a", user(`fox ${age}b`))
          ),
          age
        )
      )
      const opened: Array<string> = []
      const files = Layer.effect(
        SearchFiles,
        Effect.map(SearchFiles, (node) =>
          SearchFiles.of({ read: (path, sink) => (opened.push(Path.basename(path)), node.read(path, sink)) })
        )
      ).pipe(Layer.provide(SearchFiles.layerNode))
      const all = yield* search("fox", { sessions, positions: false }, files)
      assert.deepStrictEqual(all.map(textOf), ["fox 3b", "fox 3a", "fox 2b", "fox 2a", "fox 1b", "fox 1a"])
      opened.length = 0
      const some = yield* search("fox", { sessions, positions: false, limit: 3 }, files)
      assert.deepStrictEqual(some.map(textOf), ["fox 3b", "fox 3a", "fox 2b"])
      assert.deepStrictEqual(opened, ["3.jsonl", "2.jsonl"])
    })
  )

  it.live("keeps the newest of very many hits under a limit", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      // Older hits are dropped every 67 entries, so 140 counts cover every remainder.
      for (let count = 140; count < 280; count += 1) {
        const entries = Array.from({ length: count }, (_, at) =>
          entry(`e${at}`, at === 0 ? null : `e${at - 1}`, user(`fox ${at}`))
        )
        const path = write(folder, "s.jsonl", header("s"), ...entries)
        const hits = yield* search("fox", { sessions: [sessionAt(path)], limit: 3 })
        assert.deepStrictEqual(hits.map(textOf), [`fox ${count - 1}`, `fox ${count - 2}`, `fox ${count - 3}`])
        const leafId = `e${count - 1}`
        assert.deepStrictEqual(hits[0]?.position, { active: true, depth: count - 1, leafId })
      }
    })
  )

  it.live("reports an entry that forks share once, in the original, with the names of the forks", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const original = Path.join(fixtures, "sessions/project/branches.jsonl")
      const source = Session.read(Files.readFileSync(original))
      const leaf = source.tree.leafId ?? ""
      const fork = (id: string, of: Session.Session, parentSession: string, more: string): string => {
        const made = SessionFork.branch(of, of.tree.leafId ?? leaf, {
          id,
          timestamp: "2026-11-22T00:00:00.000Z",
          cwd: "/w",
          parentSession
        })
        assert.isDefined(made)
        const path = Path.join(folder, `2026-11-22T00-00-00-000Z_${id}.jsonl`)
        Files.writeFileSync(
          path,
          Buffer.concat([Session.toBytes(made), Buffer.from(`${entry(`own-${id}`, leaf, user(more))}\n`)])
        )
        return path
      }
      const one = fork("one", source, original, "jest in one")
      const two = fork("two", Session.read(Files.readFileSync(one)), one, "jest in two")
      const sessions = [sessionAt(original, 1), sessionAt(one, 2), sessionAt(two, 3)]
      const found = yield* search("jest", { sessions, scope: "conversations" })
      const alone = yield* search("jest", { sessions: sessions.slice(0, 1), scope: "conversations" })
      assert.deepStrictEqual(
        found.map((hit) => [Path.basename(hit.session.path), textOf(hit)]),
        [
          [Path.basename(two), "jest in two"],
          [Path.basename(one), "jest in one"],
          ...alone.map((hit) => ["branches.jsonl", textOf(hit)])
        ]
      )
      // The forks contain copies of their branch; `two` also contains a copy of the entry added to `one`.
      const onBranch = new Set(source.tree.getBranch().map(({ id }) => id))
      for (const { entryId, forks, session } of found) {
        const expected =
          session.id === "two" ? [] : session.id === "one" ? ["two"] : onBranch.has(entryId ?? "") ? ["one", "two"] : []
        assert.deepStrictEqual(
          forks.map(({ id }) => id),
          expected,
          String(entryId)
        )
      }
      // Without the original its forks are still a family, also if a filter excludes the original.
      const orphans = yield* search("jest", { sessions: sessions.slice(1), scope: "conversations" })
      assert.deepStrictEqual(new Set(orphans.map(({ session }) => session.id)), new Set(["one", "two"]))
      assert.strictEqual(
        orphans.length,
        new Set(orphans.map((hit) => `${hit.entryId} ${hit.kind} ${textOf(hit)}`)).size
      )
      const filtered = yield* search("jest", { sessions, scope: "conversations", filter: { cwd: ["/w"] } })
      assert.deepStrictEqual(filtered.map(textOf).sort(), orphans.map(textOf).sort())
    })
  )

  it.live("finds a moved original by the id in its file name, and groups forks of a missing original", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const shared = entry("a", null, user("fox"))
      const moved = sessionAt(write(folder, "elsewhere.jsonl", header("old"), shared), 1)
      const parentSession = "/gone/2026-02-01T10-00-00-000Z_old.jsonl"
      const forks = ["f", "g"].map((id, at) =>
        sessionAt(write(folder, `${id}.jsonl`, header(id, { parentSession }), shared), 2 + at)
      )
      const hits = yield* search("fox", { sessions: [moved, ...forks] })
      assert.deepStrictEqual(
        hits.map(({ forks, session }) => [session.id, forks.map(({ id }) => id)]),
        [["old", ["f", "g"]]]
      )
      const left = yield* search("fox", { sessions: forks })
      assert.deepStrictEqual(
        left.map(({ forks, session }) => [session.id, forks.map(({ id }) => id)]),
        [["f", ["g"]]]
      )
      // Headers may name each other.
      const circle = ["x", "y"].map((id) =>
        sessionAt(
          write(
            folder,
            `${id}.jsonl`,
            header(id, { parentSession: Path.join(folder, id === "x" ? "y.jsonl" : "x.jsonl") }),
            shared
          )
        )
      )
      assert.lengthOf(yield* search("fox", { sessions: circle }), 1)
    })
  )

  it.live("filters by directory, rig, role, tool, model and time", () =>
    Effect.gen(function* () {
      const names = ["gt/deacon-patrol", "gt/crew-max", "gt/witness-patrol", "project/branches"]
      const sessions = names.map((name) => sessionAt(Path.join(fixtures, `sessions/${name}.jsonl`)))
      const found = (text: string, filter: SearchFilter, scope: SearchQuery["scope"] = "all") =>
        Effect.map(search(text, { sessions, scope, filter }), (hits) => [
          ...new Set(hits.map(({ session }) => Path.basename(session.path, ".jsonl")))
        ])
      assert.lengthOf(yield* found("e", {}), 4)
      assert.deepStrictEqual(yield* found("e", { rigs: ["deacon"] }), ["deacon-patrol"])
      assert.deepStrictEqual((yield* found("e", { rigs: ["gastown"] })).sort(), ["crew-max", "witness-patrol"])
      assert.deepStrictEqual(yield* found("e", { roles: ["crew"] }), ["crew-max"])
      assert.deepStrictEqual(yield* found("e", { cwd: ["/home/dev/work/app"] }), ["branches"])
      assert.deepStrictEqual(yield* found("e", { cwd: ["/home/dev/work/"] }), ["branches"])
      assert.deepStrictEqual(yield* found("e", { cwd: ["/home/dev/work/ap"] }), [])
      const tools = yield* search("jest", { sessions, scope: "all", filter: { tools: ["bash"] } })
      assert.deepStrictEqual(
        tools.map(({ kind, tool }) => [kind, tool]),
        [["tool_call", "bash"]]
      )
      assert.lengthOf(yield* search("jest", { sessions, scope: "all", filter: { tools: ["read"] } }), 0)
      const at = Date.parse(tools[0]?.timestamp ?? "")
      const inTime = (sinceMs: number, untilMs: number) =>
        Effect.map(
          search("npm i -D jest", { sessions, scope: "all", filter: { sinceMs, untilMs } }),
          ({ length }) => length
        )
      assert.deepStrictEqual(
        [yield* inTime(at, at + 1), yield* inTime(at + 1, Infinity), yield* inTime(0, at)],
        [1, 0, 0]
      )
    })
  )

  it.live("filters by the model that wrote an entry, or that was selected on its branch", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const change = (id: string, parentId: string | null, modelId: string): string =>
        JSON.stringify({
          type: "model_change",
          id,
          parentId,
          timestamp: "2026-02-01T10:00:00.000Z",
          provider: "p",
          modelId
        })
      const said = (model: string): object => ({
        role: "assistant",
        content: [{ type: "text", text: "fox" }],
        provider: "p",
        model
      })
      const path = write(
        folder,
        "s.jsonl",
        header("s"),
        change("m1", null, "one"),
        entry("u1", "m1", user("fox")),
        entry("a1", "u1", said("one")),
        change("m2", "u1", "two"),
        entry("u2", "m2", user("fox")),
        entry("a2", "u2", said("three")),
        entry("u3", "a2", user("fox"))
      )
      const ids = (model: string) =>
        Effect.map(
          search("fox", { sessions: [sessionAt(path)], scope: "all", filter: { models: [model] }, limit: 9 }),
          (hits) => hits.map(({ entryId }) => entryId).reverse()
        )
      assert.deepStrictEqual(yield* ids("one"), ["u1", "a1"])
      assert.deepStrictEqual(yield* ids("p/two"), ["u2"])
      assert.deepStrictEqual(yield* ids("three"), ["a2", "u3"])
      assert.deepStrictEqual(yield* ids("hree"), [])
    })
  )

  it.live("reports the position of every entry in its tree, also in damaged files", () =>
    Effect.gen(function* () {
      const names = ["sessions/project", "sessions/gt", "damaged", "unsound"].flatMap((directory) =>
        Files.readdirSync(Path.join(fixtures, directory)).map((name) => Path.join(fixtures, directory, name))
      )
      let elsewhere = 0
      for (const path of names) {
        const { header: line, tree } = Session.read(Files.readFileSync(path))
        const hits = yield* search("e", { sessions: [sessionAt(path)], scope: "all" })
        const isTree = versionOf(line?.decode() ?? {}) > 1
        const active = new Set(tree.getBranch().map(({ byteOffset }) => byteOffset))
        for (const { byteOffset, entryId, position } of hits) {
          if (!isTree) {
            if (line !== undefined) assert.deepInclude(position, { active: true, leafId: null }, path)
            continue
          }
          const entry = tree.getEntries().find((one) => one.byteOffset === byteOffset)
          if (entry === undefined || !tree.has(entry)) {
            assert.isUndefined(position, path)
            continue
          }
          assert.strictEqual(position?.active, active.has(byteOffset), `${path} ${entryId}`)
          assert.strictEqual(position?.depth, tree.branchTo(entry).length - 1, `${path} ${entryId}`)
          const { leafId } = position ?? { leafId: null }
          // A leaf may lack an id.
          const ends =
            leafId === null ? tree.leaves().filter(({ id }) => id === null) : [tree.getEntry(leafId) ?? entry]
          assert.isTrue(
            ends.some((end) => tree.branchTo(end).includes(entry)),
            `${path} ${entryId}`
          )
          if (position?.active === false) elsewhere++
        }
      }
      assert.isAbove(elsewhere, 0)
    })
  )

  it.live("returns the lines around matches, each once", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const path = write(folder, "s.jsonl", header("s"), entry("a", null, user("1\r\nfox 2\n3 fox\n4\n5\n6 fox fox")))
      const [hit] = yield* search("fox", { sessions: [sessionAt(path)], context: { before: 1, after: 1 } })
      assert.isDefined(hit)
      assert.deepStrictEqual(
        hit.lines.map(({ line, text }) => [line, text]),
        [
          [1, "1"],
          [2, "fox 2"],
          [3, "3 fox"],
          [4, "4"],
          [5, "5"],
          [6, "6 fox fox"]
        ]
      )
      assert.deepStrictEqual(
        hit.matches.map(({ start }) => start),
        [3, 11, 21, 25]
      )
      for (const { start } of hit.matches)
        assert.isTrue(hit.lines.some(({ offset, text }) => text.startsWith("fox", start - offset)))
      const [across] = yield* search("2\n3", { sessions: [sessionAt(path)] })
      assert.deepStrictEqual(
        across?.lines.map(({ line }) => line),
        [2, 3]
      )
    })
  )

  it.live("notes files that cannot be read, and searches the others", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const sessions = ["a", "b"].map((name) =>
        sessionAt(write(folder, `${name}.jsonl`, header(name), entry("e", null, user("fox"))))
      )
      Files.rmSync(Path.join(folder, "a.jsonl"))
      for (const files of [SearchFiles.layerNode, SearchFiles.layer.pipe(Layer.provide(NodeServices.layer))]) {
        const notes: Array<SearchNote> = []
        const onNote = (note: SearchNote) => Effect.sync(() => void notes.push(note))
        const hits = yield* search("fox", { sessions, onNote }, files)
        assert.deepStrictEqual(
          hits.map(({ session }) => session.id),
          ["b"]
        )
        assert.deepStrictEqual(notes, [{ path: Path.join(folder, "a.jsonl"), reason: "no such file or directory" }])
      }
    })
  )

  it.live("searches a file that shrinks or grows meanwhile as far as it was read", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const long = Array.from({ length: 6000 }, (_, at) => entry(`e${at}`, null, user(`fox ${"x".repeat(100)}`)))
      const path = write(folder, "s.jsonl", header("s"), ...long)
      const size = Files.statSync(path).size
      const changing = (change: () => void) => {
        let changed = false
        return Layer.effect(
          SearchFiles,
          Effect.map(SearchFiles, (node) =>
            SearchFiles.of({
              read: (at, sink) =>
                node.read(at, {
                  room: () => sink.room(),
                  take: (count) => {
                    if (!changed) change()
                    changed = true
                    return sink.take(count)
                  }
                })
            })
          )
        ).pipe(Layer.provide(SearchFiles.layerNode))
      }
      const sessions = [sessionAt(path)]
      const fewer = yield* search(
        "fox",
        { sessions, positions: false },
        changing(() => Files.truncateSync(path, 1000))
      )
      assert.isAbove(fewer.length, 100)
      assert.isBelow(fewer.length, 6000)
      write(folder, "s.jsonl", header("s"), ...long)
      const added = `${entry("new", null, user("fox"))}\n{"type":"message","id":"torn`
      const more = yield* search(
        "fox",
        { sessions, positions: false },
        changing(() => Files.appendFileSync(path, added))
      )
      assert.strictEqual(more.length, 6001)
      assert.isAbove(Files.statSync(path).size, size)
    })
  )

  it.live("finds the same through Effect's file system", () =>
    Effect.gen(function* () {
      const sessions = Files.readdirSync(Path.join(fixtures, "damaged")).map((name) =>
        sessionAt(Path.join(fixtures, "damaged", name))
      )
      const portable = SearchFiles.layer.pipe(Layer.provide(NodeServices.layer))
      const query = { sessions, scope: "all" } as const
      const hits = yield* search("e", query)
      assert.isAbove(hits.length, 50)
      assert.deepStrictEqual(yield* search("e", query, portable), hits)
    })
  )

  it.live("finds the same in a database or container as in a file", () =>
    Effect.gen(function* () {
      const path = Path.join(fixtures, "sessions/project/branches.jsonl")
      const { lines } = Session.read(Files.readFileSync(path))
      const layer = SessionSearch.layer.pipe(
        Layer.provide(Layer.mock(SearchFiles, {})),
        Layer.provide(Layer.mock(SessionSource, { lines: () => Stream.fromIterable(lines) }))
      )
      const session = { ...sessionAt(path), format: "sqlite_v1" } as const
      const query = { pattern: patternOf("jest"), scope: "all", limit: 3 } as const
      const found = yield* Effect.flatMap(SessionSearch, (service) =>
        Stream.runCollect(service.search({ ...query, sessions: [session] }))
      ).pipe(Effect.provide(layer))
      const inFile = yield* search("jest", { ...query, sessions: [sessionAt(path)] })
      assert.lengthOf(found, 3)
      assert.deepStrictEqual(
        found.map((hit) => ({ ...hit, session: null })),
        inFile.map((hit) => ({ ...hit, session: null }))
      )
    })
  )

  it.live("stops between two pieces of a file when it is interrupted", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const path = Path.join(folder, "large")
      Files.writeFileSync(path, "x".repeat(1 << 20))
      const room = Buffer.alloc(64)
      const taken: Array<number> = []
      const sink: ByteSink = { room: () => room, take: (count) => taken.push(count) > 0 }
      const files = yield* SearchFiles
      const reading = yield* Effect.forkChild(files.read(path, sink))
      while (taken.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(reading)
      const stopped = taken.length
      assert.isBelow(stopped, (1 << 20) / room.length)
      yield* Effect.yieldNow
      assert.lengthOf(taken, stopped)
    }).pipe(Effect.provide(SearchFiles.layerNode))
  )

  it.live("uses the time of the message if that of the entry is not a date, as the timeline does", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const path = write(folder, "s.jsonl", SPACED_HEADER, spacedEntry("find me", '"timestamp": "yesterday",'))
      const filter = { sinceMs: Date.parse("2026-05-28T00:00:00Z"), untilMs: Date.parse("2026-05-29T00:00:00Z") }
      const hits = yield* search("find me", { sessions: [sessionAt(path)], filter })
      assert.deepStrictEqual(
        hits.map(({ timestamp }) => timestamp),
        ["2026-05-28T20:21:05.000Z"]
      )
    })
  )

  it.live("reports the derived ids of version 1 entries", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const line = (content: string, more: object = {}) =>
        JSON.stringify({ type: "message", message: user(content), ...more })
      const lines = ["fox 1", "2", "fox 3", "fox 3"].map((content) => line(content))
      // Pi replaces ids in version 1.
      const path = write(folder, "s.jsonl", '{"type":"session","id":"old"}', ...lines, line("fox 5", { id: "own" }))
      const { tree } = SessionMigration.toCurrent(Session.read(Files.readFileSync(path)))
      const ids = tree.getEntries().map(({ id }) => id)
      const hits = yield* search("fox", { sessions: [sessionAt(path)] })
      assert.deepStrictEqual(
        hits.map(({ entryId }) => entryId),
        [ids[4], ids[3], ids[2], ids[0]]
      )
      const unplaced = yield* search("2", { sessions: [sessionAt(path)], positions: false })
      assert.deepStrictEqual(
        unplaced.map(({ entryId }) => entryId),
        [null]
      )
    })
  )

  it.live("reports positions of version 1 entries", () =>
    Effect.gen(function* () {
      const path = Path.join(fixtures, "sessions/project/version-1.jsonl")
      const hits = yield* search("e", { sessions: [sessionAt(path)] })
      assert.isAbove(hits.length, 0)
      for (const { entryId, position } of hits) {
        assert.isString(entryId)
        assert.isTrue(position?.active)
      }
    })
  )
})
