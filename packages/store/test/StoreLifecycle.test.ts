/** One session through every operation of a store. */
import * as Files from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import * as Store from "./support/storeLayer.ts"

const FIXTURE = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")
const fixture = Files.readdirSync(FIXTURE, { recursive: true, encoding: "utf8" })
  .map((name) => Path.join(FIXTURE, name))
  .filter((file) => file.endsWith(".jsonl") && Files.readFileSync(file, "utf8").includes('"version":3'))
  .toSorted((a, b) => Files.statSync(b).size - Files.statSync(a).size)[0]!

it.live("migrates, reads, appends, rolls back and migrates again, and keeps every byte", () =>
  Effect.gen(function* () {
    const directory = Files.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-store-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => Files.rmSync(directory, { recursive: true })))
    const file = Path.join(directory, "2026-01-01T00-00-00.000Z_session.jsonl")
    Files.copyFileSync(fixture, file)
    const original = Files.readFileSync(file)
    const session = Session.read(original)
    const store = yield* SessionStore
    const migration = yield* StoreMigration

    const { location, entryCount } = yield* migration.migrate(file)
    assert.strictEqual(entryCount, session.tree.getEntries().length)
    assert.strictEqual((yield* migration.migrate(file)).outcome, "already")

    yield* Effect.scoped(
      Effect.gen(function* () {
        const reader = yield* store.reader(location)
        assert.isTrue(Buffer.from(Session.toBytes(yield* reader.session)).equals(original))
        assert.deepStrictEqual(yield* reader.context(), SessionContext.build(session.tree))
        assert.deepStrictEqual(
          (yield* reader.path()).map((entry) => entry.text),
          session.tree.getBranch().map((entry) => entry.text)
        )
      })
    )

    const added = SessionEntry.make({ type: "custom", id: "added001", parentId: session.tree.leafId, data: 1 })
    yield* Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* store.writer(location)
        assert.deepStrictEqual(yield* writer.append(added), {
          entryId: "added001",
          entrySeq: entryCount + 1,
          written: true
        })
        assert.isFalse((yield* writer.append(added)).written)
        const refused = yield* Effect.flip(Effect.scoped(store.writer(location)))
        assert.strictEqual(refused._tag, "StoreLocked")
        assert.include(refused.message, String(process.pid))
      })
    )

    const back = yield* migration.rollback(location)
    assert.isTrue(back.exported)
    assert.isTrue(Files.readFileSync(file).equals(original))
    assert.strictEqual(Files.readFileSync(back.path, "utf8"), `${original.toString()}${added.text}\n`)

    assert.strictEqual((yield* migration.migrate(back.path)).outcome, "migrated")
    const report = yield* store.verify(location)
    assert.deepStrictEqual(report.findings, [])
    assert.deepStrictEqual(
      (yield* migration.ledger(location)).map((event) => event.phase),
      ["planned", "staged", "verified", "completed", "rollback_planned", "rolled_back"].concat([
        "planned",
        "staged",
        "verified",
        "completed"
      ])
    )
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)
