/** Sessions in containers, databases and files are listed once each, and read alike. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import * as StoreSource from "../src/StoreSource.ts"
import * as StoreTarget from "../src/StoreTarget.ts"
import * as Sessions from "./support/sessions.ts"
import * as Store from "./support/storeLayer.ts"

const sourceOf = (...paths: ReadonlyArray<string>) =>
  SessionSource.pipe(Effect.provide(StoreSource.layerPaths(paths), { local: true }))

const listed = Effect.fnUntraced(function* (...paths: ReadonlyArray<string>) {
  const { sessions, skipped } = yield* (yield* sourceOf(...paths)).list
  assert.deepStrictEqual(skipped, [])
  return sessions.map(({ path }) => path)
})

const folder = Effect.gen(function* () {
  const root = yield* memoryFolder
  const directory = Path.join(root, "sessions", "--srv-project--")
  Fs.mkdirSync(directory, { recursive: true })
  for (const { bytes, name } of Sessions.fixtures()) {
    if (Sessions.versionOf(bytes) === 3) Fs.writeFileSync(Path.join(directory, Path.basename(name)), bytes)
  }
  const files = Fs.readdirSync(directory)
    .toSorted()
    .map((name) => Path.join(directory, name))
  return { root, directory, files }
})

describe("a session with a container", () => {
  it.live("is listed once: as the container while that is active, as its file before and after", () =>
    Effect.gen(function* () {
      const { files, root } = yield* folder
      const [file = "", ...others] = files
      const migration = yield* StoreMigration
      assert.deepStrictEqual(yield* listed(root), files)

      const { location } = yield* migration.migrate(file)
      const container = Path.join(location.directory, `${location.sessionId}.v2`)
      assert.deepStrictEqual(yield* listed(root), [container, ...others].toSorted())
      assert.deepStrictEqual(yield* listed(container), [container], "named by itself")
      assert.deepStrictEqual(yield* listed(container, root), [container, ...others].toSorted(), "named twice")

      yield* migration.rollback(location)
      assert.deepStrictEqual(yield* listed(root), files)

      yield* migration.migrate(file)
      const store = yield* SessionStore
      yield* Effect.scoped(
        Effect.flatMap(store.writer(location), (writer) => writer.append(Sessions.entryLine("later", null)))
      )
      const back = yield* migration.rollback(location)
      assert.deepStrictEqual(yield* listed(root), [back.path, ...others].toSorted(), "the file that it is in now")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live.each(["s.sqlite", "s.db"])(
    "is listed and read as the database that it was rolled back to, and so is %s",
    (name) =>
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        const bytes = Sessions.fileOf(Sessions.headerLine(), Sessions.chain(5))
        const file = Path.join(directory, "s.jsonl")
        Fs.writeFileSync(file, bytes)
        const migration = yield* StoreMigration
        const { location } = yield* migration.migrate(file)
        const back = yield* migration.rollback(location, { format: "sqlite_v1" })
        assert.deepStrictEqual(yield* listed(directory), [back.path])
        // With an extension that does not show its format.
        const other = yield* memoryFolder
        const database = Path.join(other, name)
        Fs.copyFileSync(back.path, database)
        const again = yield* migration.migrate(database, { format: "sqlite_v1" })
        assert.deepStrictEqual(yield* listed(other), [Path.join(other, "s1.v2")])
        assert.strictEqual((yield* migration.rollback(again.location)).path, database)
        const source = yield* sourceOf(other)
        const { sessions } = yield* source.list
        assert.deepStrictEqual(
          sessions.map(({ path }) => path),
          [database]
        )
        for (const ref of sessions) {
          assert.strictEqual((yield* source.header(ref)).text, Sessions.headerLine().text)
          assert.isTrue(Buffer.from(Session.toBytes(yield* source.read(ref))).equals(bytes))
          assert.strictEqual((yield* Stream.runCollect(source.lines(ref))).length, 6)
        }
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is listed once beside another of its files that was never migrated", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const bytes = Sessions.fileOf(Sessions.headerLine(), Sessions.chain(5))
      const names = ["s.jsonl", "2026-01-05T10-00-00.000Z_s1.jsonl"]
      for (const name of names) Fs.writeFileSync(Path.join(directory, name), bytes)
      const another = Path.join(directory, "t.jsonl")
      Fs.writeFileSync(another, Sessions.fileOf(Sessions.headerLine("s2"), Sessions.chain(2)))
      yield* Effect.flatMap(SessionTarget, (target) => target.write(Session.read(bytes))).pipe(
        Effect.provide(StoreTarget.layerDirectory(directory), { local: true })
      )
      assert.deepStrictEqual(yield* listed(directory), [Path.join(directory, "s1.v2"), another])
      const back = yield* (yield* StoreMigration).rollback({ directory, sessionId: "s1" })
      assert.deepStrictEqual(yield* listed(directory), [back.path, another].toSorted())
      // A missing container does not hide the files.
      Fs.rmSync(back.path)
      assert.deepStrictEqual(
        yield* listed(directory),
        [...names.map((name) => Path.join(directory, name)), another].toSorted()
      )
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("has the same header, lines and session as its file", () =>
    Effect.gen(function* () {
      const { files, root } = yield* folder
      const before = new Map(files.map((file) => [file, Fs.readFileSync(file)]))
      const migration = yield* StoreMigration
      for (const file of files) yield* migration.migrate(file, { segmentBytes: 1000 })
      const source = yield* sourceOf(root)
      const { sessions } = yield* source.list
      assert.strictEqual(sessions.length, files.length)
      const files1 = yield* SessionSource.pipe(Effect.provide(SessionSource.layerPaths(files), { local: true }))
      const fileRefs = new Map<string | undefined, (typeof sessions)[number]>()
      for (const ref of (yield* files1.list).sessions) fileRefs.set((yield* files1.header(ref)).text, ref)
      for (const ref of sessions) {
        assert.isTrue(ref.path.endsWith(".v2"))
        assert.isAbove(ref.sizeBytes, 0)
        assert.isAbove(ref.modifiedMs, Date.UTC(2020))
        const header = yield* source.header(ref)
        const file = fileRefs.get(header.text) ?? assert.fail("another header")
        const lines = yield* Stream.runCollect(source.lines(ref))
        const fileLines = yield* Stream.runCollect(files1.lines(file))
        assert.deepStrictEqual(
          lines.map(({ byteOffset, line, text }) => ({ byteOffset, line, text })),
          fileLines.map(({ byteOffset, line, text }) => ({ byteOffset, line, text }))
        )
        const session = yield* source.read(ref)
        assert.isTrue(Buffer.from(Session.toBytes(session)).equals(before.get(file.path) ?? Buffer.alloc(0)))
      }
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("that cannot be read is reported, and the others are listed", () =>
    Effect.gen(function* () {
      const { directory, files, root } = yield* folder
      const { location } = yield* (yield* StoreMigration).migrate(files[0] ?? "")
      Fs.writeFileSync(Path.join(directory, `${location.sessionId}.active.json`), "{}\n")
      const { sessions, skipped } = yield* (yield* sourceOf(root)).list
      assert.deepStrictEqual(
        skipped.map(({ path }) => path),
        [Path.join(directory, `${location.sessionId}.v2`)]
      )
      // The active store is unknown, so the file is listed.
      assert.deepStrictEqual(
        sessions.map(({ path }) => path),
        files
      )
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is not listed while it is being built, or when it is not the active store", () =>
    Effect.gen(function* () {
      const { directory, files, root } = yield* folder
      Fs.mkdirSync(Path.join(directory, "s1.v2.staging-1", "segments"), { recursive: true })
      Fs.mkdirSync(Path.join(directory, "s1.v2.retired-1", "segments"), { recursive: true })
      Fs.mkdirSync(Path.join(directory, "s1.v2", "segments"), { recursive: true })
      assert.deepStrictEqual(yield* listed(root), files)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

describe("a database of lines", () => {
  it.live("is listed and read like its file; other databases are not listed", () =>
    Effect.gen(function* () {
      const { files, root } = yield* folder
      const [file = ""] = files
      const database = Path.join(root, "sessions", "s.sqlite")
      const bytes = Fs.readFileSync(file)
      const lines = bytes.toString("latin1").split(/(?<=\n)/)
      const session = new DatabaseSync(database)
      session.exec("CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT")
      const put = session.prepare("INSERT INTO session_line VALUES (?, ?)")
      for (const [seq, line] of lines.entries()) put.run(seq, Buffer.from(line, "latin1"))
      session.close()
      for (const name of ["session-index.sqlite", "notes.sqlite"]) {
        const other = new DatabaseSync(Path.join(root, "sessions", name))
        other.exec("CREATE TABLE notes (text TEXT)")
        other.close()
      }
      Fs.symlinkSync(Path.join(root, "sessions"), Path.join(root, "the same again"))
      assert.deepStrictEqual(yield* listed(root), [database, ...files].toSorted())

      const source = yield* sourceOf(root)
      const { sessions } = yield* source.list
      const ref = sessions.find(({ path }) => path === database)!
      assert.strictEqual(ref.sizeBytes, Fs.statSync(database).size)
      const header = yield* source.header(ref)
      assert.strictEqual(header.text, lines[0]?.trimEnd())
      const whole = yield* source.read(ref)
      assert.isTrue(Buffer.concat([...Session.print(whole.lines)]).equals(bytes))
      const streamed = yield* Stream.runCollect(source.lines(ref))
      assert.strictEqual(streamed.length, whole.lines.length)
      const notes = { ...ref, path: Path.join(root, "sessions", "notes.sqlite") }
      assert.include((yield* Effect.flip(source.header(notes))).message, "no such table")
    }).pipe(Effect.provide(Store.live), Effect.scoped)
  )
})
