/**
 * The wire contract: the JSON Schema document is the one that the schemas give, every container is valid by it in each
 * state, and the decoders refuse what it refuses.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionStore } from "../src/SessionStore.ts"
import * as StoreContract from "../src/wire/StoreContract.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import { type Bundle, collect, framesOf } from "./support/containerBundle.ts"
import * as Contract from "./support/contractValidator.ts"
import * as Mutations from "./support/mutations.ts"
import { kinds, sealed } from "./support/records.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"

const decodeBundle = Schema.decodeUnknownResult(StoreContract.ContractBundle, { onExcessProperty: "error" })

const mustBeValid = (container: string, moment: string): Bundle => {
  const bundle = collect(container)
  assert.deepStrictEqual(Contract.errorsOf(bundle), [], moment)
  assert.deepStrictEqual<unknown>(Result.getOrThrow(decodeBundle(bundle)), bundle, moment)
  return bundle
}

/** The bundle of a container after each step, by the name of the step. */
const life = Effect.gen(function* () {
  const directory = yield* memoryFolder
  const store = yield* SessionStore
  const migration = yield* StoreMigration
  const location = { directory, sessionId: "s1" }
  const container = Path.join(directory, "s1.v2")
  const bundles = new Map<string, Bundle>()
  const seen = (moment: string) => Effect.sync(() => bundles.set(moment, mustBeValid(container, moment)))
  yield* Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* store.create(directory, Sessions.headerLine("s1"), { segmentBytes: 1500 })
      yield* seen("created")
      yield* writer.append(Sessions.user("a", null))
      yield* seen("appended")
      for (const entry of Sessions.chain(8)) yield* writer.append(entry)
      yield* seen("sealed")
      yield* writer.append(Sessions.assistant("b", "a", '"quotes" \\ \u0000 日本語'))
      yield* writer.checkpoint()
      yield* seen("checkpointed")
    })
  )
  yield* seen("closed")
  const back = yield* migration.rollback(location, { format: "jsonl_v3", reason: "the contract test" })
  yield* seen("rolled back")
  yield* migration.migrate(back.path, { segmentBytes: 2000 })
  yield* seen("migrated")
  yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.append(Sessions.user("c", "b"))))
  yield* seen("appended after the migration")
  yield* migration.rollback(location, { format: "sqlite_v1" })
  yield* seen("rolled back to sqlite_v1")
  return bundles
}).pipe(Effect.scoped, Effect.provide(Store.live))

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

describe("the contract document", () => {
  it("is the one that the schemas give; otherwise run `pnpm run contract`", () => {
    const text = Fs.readFileSync(Contract.file, "utf8")
    assert.strictEqual(text, `${JSON.stringify(StoreContract.document(), null, 2)}\n`)
  })

  it("has the six schemas of ADR 003, and that of the marker", () => {
    const text = Fs.readFileSync(Contract.file, "utf8")
    const ids = new Set(text.match(/pi\.session_store_v2\.[a-z_]+\.v[0-9]+/g))
    assert.deepStrictEqual(
      ids,
      new Set([
        "pi.session_store_v2.contract.v1",
        "pi.session_store_v2.manifest.v1",
        "pi.session_store_v2.segment_frame.v1",
        "pi.session_store_v2.offset_index.v1",
        "pi.session_store_v2.checkpoint.v1",
        "pi.session_store_v2.migration_event.v1",
        "pi.session_store_v2.active_store.v1"
      ])
    )
  })
})

describe("a container", () => {
  it.live("is valid by the document in each state", () =>
    Effect.gen(function* () {
      const bundles = yield* life
      const states = [...bundles].map(([moment, { manifest }]) => `${moment}: ${String(member(manifest, "state"))}`)
      assert.deepStrictEqual(states, [
        "created: DIRTY",
        "appended: DIRTY",
        "sealed: DIRTY",
        "checkpointed: CHECKPOINTED",
        "closed: CHECKPOINTED",
        "rolled back: ROLLED_BACK",
        "migrated: MIGRATED",
        "appended after the migration: DIRTY",
        "rolled back to sqlite_v1: ROLLED_BACK"
      ])
      const last = bundles.get("rolled back to sqlite_v1")
      assert.strictEqual(last?.segment_frame.length, last?.offset_index.length)
      assert.isAbove(last?.checkpoint.length ?? 0, 1)
    })
  )

  it.live("links the records of a migration and its rollback by one correlation id", () =>
    Effect.gen(function* () {
      const {
        active_store,
        manifest,
        migration_event: events
      } = (yield* life).get("rolled back to sqlite_v1") ?? assert.fail()
      const phases = new Map<unknown, Array<unknown>>()
      for (const event of events) {
        const id = member(event, "correlation_id")
        phases.set(id, [...(phases.get(id) ?? []), member(event, "phase")])
        assert.strictEqual(member(event, "outcome"), "ok")
        assert.strictEqual(member(event, "session_id"), "s1")
      }
      const correlation = member(manifest, "correlation_id")
      assert.strictEqual(member(active_store, "correlation_id"), correlation)
      assert.deepStrictEqual(
        [...phases.values()],
        [
          ["rollback_planned", "rolled_back"],
          ["planned", "staged", "verified", "completed", "rollback_planned", "rolled_back"]
        ]
      )
      assert.deepStrictEqual(phases.get(correlation), [...phases.values()][1])
      const [planned, , verified] = events.filter((event) => member(event, "correlation_id") === correlation)
      assert.deepStrictEqual(member(manifest, "source"), member(planned, "source"), "the source's snapshot is kept")
      assert.deepStrictEqual<unknown>(member(verified, "verification"), {
        entry_count_match: true,
        hash_chain_match: true,
        index_consistent: true
      })
      for (const event of events) {
        if (member(event, "phase") === "rolled_back") assert.isString(member(event, "reason"))
      }
    })
  )

  it.live("accepts entries of unknown types with unknown members, and keeps them byte for byte", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const store = yield* SessionStore
      const header = HeaderLine.make({ type: "session", version: 3, id: "s1", from: { the: ["future", null] } })
      const entries = [
        SessionEntry.make({ type: "quantum_fold", id: "q1", parentId: null, amplitude: [1e-300, { "": [] }] }),
        SessionEntry.make({
          type: "message",
          id: "q2",
          parentId: "q1",
          message: { role: "oracle", says: null },
          extra: 1
        }),
        SessionEntry.make({ type: "", id: "q3", parentId: "q2", __proto__x: true })
      ]
      yield* Effect.scoped(
        Effect.gen(function* () {
          const writer = yield* store.create(directory, header)
          yield* writer.appendAll(entries)
          yield* writer.checkpoint()
        })
      )
      mustBeValid(Path.join(directory, "s1.v2"), "unknown types")
      const payloads = framesOf(Path.join(directory, "s1.v2")).map((frame) => frame.payload.toString("utf8"))
      assert.deepStrictEqual(
        payloads,
        [header, ...entries].map((line) => line.text)
      )
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

/** Optional members. */
const OPTIONAL = new Set(["/unterminated", "/active_store"])

describe("what the contract does not allow", () => {
  it.live(
    "is refused in a bundle by the document and by our schema, missing, of another type, unknown or renamed",
    () =>
      Effect.gen(function* () {
        const bundle = (yield* life).get("rolled back to sqlite_v1") ?? assert.fail()
        // One record of each kind suffices.
        const small = {
          ...bundle,
          segment_frame: bundle.segment_frame.slice(1, 2),
          offset_index: bundle.offset_index.slice(1, 2),
          checkpoint: bundle.checkpoint.slice(-1),
          migration_event: bundle.migration_event.slice(-1)
        }
        const counts = new Map<string, number>()
        for (const { kind, path, value } of Mutations.of(small)) {
          const theirs = Contract.errorsOf(value).length === 0
          const ours = Result.isSuccess(decodeBundle(value))
          assert.strictEqual(ours, theirs, `${kind} at ${path}: ${ours ? "we accept it" : "ajv accepts it"}`)
          if (kind === "missing" && !OPTIONAL.has(path)) assert.isFalse(ours, `missing ${path}`)
          if (kind === "unknown member") assert.isFalse(ours, `unknown member in ${path}`)
          if (path.endsWith("/schema")) assert.isFalse(ours, `${kind} at ${path}`)
          counts.set(kind, (counts.get(kind) ?? 0) + (ours ? 0 : 1))
        }
        settings.note(`StoreContract: refused in a bundle ${JSON.stringify(Object.fromEntries(counts))}`)
        assert.isAbove(counts.get("missing") ?? 0, 70)
        assert.isAbove(counts.get("wrong type") ?? 0, 400)
        assert.isAbove(counts.get("unknown member") ?? 0, 10)
      })
  )

  it.live("is refused in each record on disk by its decoder, also with a valid checksum", () =>
    Effect.gen(function* () {
      const bundles = yield* life
      const samples: { readonly [name: string]: unknown } = {
        ...(bundles.get("migrated") ?? assert.fail()),
        segment_frame: bundles.get("migrated")?.segment_frame.at(-1),
        offset_index: bundles.get("migrated")?.offset_index.at(-1),
        checkpoint: bundles.get("migrated")?.checkpoint.at(-1),
        migration_event: bundles.get("migrated")?.migration_event.at(-1)
      }
      let refused = 0
      for (const { decode, name } of kinds) {
        const record = Object(samples[name])
        const payload = name === "segment_frame" ? Buffer.alloc(Number(record.payload_length), 0x61) : undefined
        assert.isDefined(decode(sealed(record, payload)), `${name} as it is`)
        for (const { kind, path, value } of Mutations.of(record)) {
          // Computes the checksum again; a wrong length would make it that of another payload.
          if (path === "/" && kind !== "unknown member") continue
          if (path === "/crc32" || path === "/payload_length") continue
          const ours = decode(sealed(Object(value), payload)) !== undefined
          const theirs = Contract.isValid(name, value)
          assert.strictEqual(ours, theirs, `${name}: ${kind} at ${path}: ${ours ? "we accept it" : "ajv accepts it"}`)
          if (kind === "missing" && !OPTIONAL.has(path)) assert.isFalse(ours, `${name}: missing ${path}`)
          if (!ours) refused++
        }
      }
      settings.note(`StoreContract: ${refused} broken records refused, as ajv does`)
      assert.isAbove(refused, 400)
    })
  )
})
