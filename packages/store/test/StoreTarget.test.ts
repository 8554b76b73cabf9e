/** Writing sessions into containers, by the rules that SessionTarget has for files. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Session from "@pi-sessions/core/Session"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import * as StoreTarget from "../src/StoreTarget.ts"
import * as Files from "./support/files.ts"
import * as Sessions from "./support/sessions.ts"
import * as Store from "./support/storeLayer.ts"

const entries = Sessions.chain(5)
const sessionOf = (count: number, more: ReadonlyArray<(typeof entries)[number]> = []) =>
  Session.read(Sessions.fileOf(Sessions.headerLine(), [...entries.slice(0, count), ...more]))

const write = (directory: string, session: Session.Session, options?: { readonly force?: boolean }) =>
  Effect.flatMap(SessionTarget, (target) => target.write(session, options)).pipe(
    Effect.provide(StoreTarget.layerDirectory(directory), { local: true })
  )

const held = (directory: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* (yield* SessionStore).reader({ directory, sessionId: "s1" })
      return Buffer.from(Session.toBytes(yield* reader.session)).toString("utf8")
    })
  )

const text = (session: Session.Session) => Buffer.from(Session.toBytes(session)).toString("utf8")

describe("a session written to a store", () => {
  it.live("is created, unchanged or extended, and a store with more entries is kept", () =>
    Effect.gen(function* () {
      const directory = Path.join(yield* memoryFolder, "a", "b")
      const path = Path.join(directory, "s1.v2")
      assert.deepStrictEqual(yield* write(directory, sessionOf(2)), { path, outcome: "created" })
      assert.strictEqual(yield* held(directory), text(sessionOf(2)))
      const before = Files.below(path)
      assert.deepStrictEqual(yield* write(directory, sessionOf(2)), { path, outcome: "unchanged" })
      assert.deepStrictEqual(Files.changed(before, Files.below(path)), [])
      assert.deepStrictEqual(yield* write(directory, sessionOf(5)), { path, outcome: "extended" })
      assert.strictEqual(yield* held(directory), text(sessionOf(5)))
      assert.deepStrictEqual(yield* write(directory, sessionOf(3)), { path, outcome: "ahead" })
      assert.deepStrictEqual(yield* write(directory, sessionOf(3), { force: true }), { path, outcome: "ahead" })
      assert.strictEqual(yield* held(directory), text(sessionOf(5)))
      const report = yield* (yield* SessionStore).verify({ directory, sessionId: "s1" })
      assert.deepStrictEqual(report.findings, [])
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is refused by a store with other entries; with force that store is moved aside", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const path = Path.join(directory, "s1.v2")
      const other = sessionOf(2, [Sessions.entryLine("x", "e2")])
      yield* write(directory, other)
      const before = Files.below(directory)
      const refused = yield* Effect.flip(write(directory, sessionOf(5)))
      assert.isTrue(refused._tag === "TargetDiverged" && refused.why === "diverged")
      assert.deepStrictEqual(Files.changed(before, Files.below(directory)), [])
      const replaced = yield* write(directory, sessionOf(5), { force: true })
      assert.deepStrictEqual([replaced.path, replaced.outcome], [path, "replaced"])
      assert.strictEqual(yield* held(directory), text(sessionOf(5)))
      const aside = replaced.movedAside ?? ""
      const container = [...before].filter(([name]) => name.startsWith("s1.v2/"))
      for (const [name, bytes] of container) {
        if (name.endsWith("/")) continue
        assert.isTrue(Fs.readFileSync(Path.join(aside, name.slice("s1.v2/".length))).equals(bytes), name)
      }
      // A second time, beside the first.
      const again = yield* write(directory, other, { force: true })
      assert.notStrictEqual(again.movedAside, aside)
      assert.isTrue(Fs.existsSync(aside))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is refused without a header, and while another writer has the store", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const nothing = yield* Effect.flip(
        write(directory, Session.readText('{"type":"custom","id":"a","parentId":null}\n'))
      )
      assert.strictEqual(nothing._tag, "NotASession")
      assert.deepStrictEqual(Fs.readdirSync(directory), [])
      yield* write(directory, sessionOf(2))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* (yield* SessionStore).writer({ directory, sessionId: "s1" })
          const locked = yield* Effect.flip(write(directory, sessionOf(5)))
          assert.strictEqual(locked._tag, "SessionFileError")
          assert.include(locked.message, String(process.pid))
        })
      )
      assert.strictEqual(yield* held(directory), text(sessionOf(2)))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("that cannot be stored is refused before anything is created or moved aside, also with force", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const orphan = sessionOf(2, [Sessions.entryLine("x", "nobody")])
      const twice = sessionOf(2, [Sessions.entryLine("e1", "e2")])
      const itself = sessionOf(2, [Sessions.entryLine("s1", "e2")])
      for (const session of [orphan, twice, itself]) {
        assert.strictEqual((yield* Effect.flip(write(directory, session)))._tag, "SessionFileError")
        assert.deepStrictEqual(Fs.readdirSync(directory), [])
      }
      yield* write(directory, sessionOf(1, [Sessions.entryLine("y", "e1")]))
      const before = Files.below(directory)
      for (const session of [orphan, twice, itself]) {
        assert.strictEqual((yield* Effect.flip(write(directory, session, { force: true })))._tag, "SessionFileError")
        assert.deepStrictEqual(Files.changed(before, Files.below(directory)), [])
      }
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("keeps every entry of a damaged session as an entry of its own", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const lines = [Sessions.headerLine(), ...entries].map((line) => line.text)
      const glued = Session.readText(`${lines[0]}\n${lines[1]}\n${lines[2]}${lines[3]}\n${lines[4]}`)
      yield* write(directory, glued)
      assert.strictEqual(yield* held(directory), `${lines.slice(0, 5).join("\n")}\n`)
      assert.strictEqual((yield* write(directory, glued)).outcome, "unchanged")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})
