/**
 * A small store on a simulated disk, damaged in one place. `verify` must report the damage, a reader must not return a
 * wrong entry, opening for writing must lose nothing without a copy, and opening again must change nothing.
 */
import { assert } from "@effect/vitest"
import { Effect, Layer, Result, Stream } from "effect"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as DiskImage from "@pi-sessions/testing/disk/DiskImage"
import * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Files from "./files.ts"
import * as Sessions from "./sessions.ts"
import * as Store from "./storeLayer.ts"

export const location = { directory: "/d", sessionId: "s1" }
const options = { segmentBytes: 1200 }

/** Files of an image by path. */
export type DiskFiles = Readonly<Record<string, Uint8Array>>

export interface Sound {
  readonly name: string
  readonly files: DiskFiles
  /** The session's file. */
  readonly bytes: Buffer
  readonly entries: ReadonlyArray<SessionEntry>
}

type Services = SessionStore | StoreMigration

/** Runs a program on the files. Returns its result and the files afterwards. */
export const on = Effect.fnUntraced(function* <A, E>(files: DiskFiles, program: Effect.Effect<A, E, Services>) {
  const machine = FaultyFileSystem.boot(DiskImage.fromFiles(files))
  const result = yield* program.pipe(
    Effect.result,
    Effect.provide(Layer.fresh(Store.over(machine.layer)), { local: true })
  )
  return { result, files: DiskImage.toFiles(machine.disk.image()) }
})

const entries = [
  Sessions.user("a1", null, "Warum? 日本語"),
  Sessions.assistant("a2", "a1"),
  Sessions.entryLine("a3", "a2"),
  Sessions.user("a4", "a1"),
  Sessions.assistant("a5", "a4"),
  Sessions.entryLine("a6", "a5")
]

/** Migrated, appended to and sealed: three segments, checkpoints, a ledger, a marker; closed in state CHECKPOINTED. */
export const settled = Effect.gen(function* () {
  const source = Sessions.fileOf(Sessions.headerLine(), entries.slice(0, 4))
  const { files, result } = yield* on(
    { "/d/s.jsonl": source },
    Effect.gen(function* () {
      yield* (yield* StoreMigration).migrate("/d/s.jsonl", options)
      const writer = yield* (yield* SessionStore).writer(location, options)
      yield* writer.appendAll(entries.slice(4))
      yield* writer.checkpoint()
    }).pipe(Effect.scoped)
  )
  yield* Effect.fromResult(result)
  return { name: "settled", files, bytes: Sessions.fileOf(Sessions.headerLine(), entries), entries } satisfies Sound
})

/** Created in its store, with an open segment; closed in state DIRTY. */
export const open = Effect.gen(function* () {
  const { files, result } = yield* on(
    {},
    Effect.gen(function* () {
      const store = yield* SessionStore
      const writer = yield* store.create(location.directory, Sessions.headerLine(), options)
      for (const entry of entries) yield* writer.append(entry)
    }).pipe(Effect.scoped)
  )
  yield* Effect.fromResult(result)
  return { name: "open", files, bytes: Sessions.fileOf(Sessions.headerLine(), entries), entries } satisfies Sound
})

/** What reading a store shows. */
interface Seen {
  readonly findings: ReadonlyArray<string>
  readonly readable: number
  readonly entryCount: number
}

const isTyped = (error: unknown): boolean => typeof error === "object" && error !== null && "_tag" in error

/** Reads everything in every way; fails on anything that was not written. */
const look = Effect.fnUntraced(function* (sound: Sound, name: string, deep: boolean) {
  const store = yield* SessionStore
  const verified = yield* Effect.result(store.verify(location))
  const findings = Result.isFailure(verified)
    ? [verified.failure.message]
    : verified.success.findings.map((finding) => `${finding.path}: ${finding.invariant}: ${finding.message}`)
  const reader = yield* Effect.result(store.reader(location))
  if (Result.isFailure(reader)) return { findings, readable: 0, entryCount: 0 } satisfies Seen
  const { entryCount } = reader.success
  assert.isAtMost(entryCount, sound.entries.length, name)
  assert.strictEqual(reader.success.header.text, Sessions.headerLine().text, name)
  let readable = 0
  for (let seq = 1; seq <= sound.entries.length; seq++) {
    const expected = sound.entries[seq - 1]
    const entry = yield* Effect.result(reader.success.entry(seq))
    if (Result.isSuccess(entry)) {
      assert.strictEqual(entry.success.text, expected?.text, `${name}: entry ${seq}`)
      readable++
    } else assert.isTrue(isTyped(entry.failure), name)
    if (!deep) continue
    const byId = yield* Effect.result(reader.success.entryById(expected?.id ?? ""))
    if (Result.isSuccess(byId)) assert.strictEqual(byId.success.text, expected?.text, `${name}: entry ${expected?.id}`)
    assert.strictEqual(Result.isSuccess(byId), Result.isSuccess(entry), `${name}: by place and by id, ${expected?.id}`)
  }
  const lines = yield* Effect.result(Stream.runCollect(reader.success.lines))
  const texts = Result.getOrElse(lines, () => []).map((line) => line.text)
  const file = [Sessions.headerLine(), ...sound.entries].map((line) => line.text)
  assert.deepStrictEqual(texts, file.slice(0, texts.length), `${name}: lines`)
  const path = deep ? yield* Effect.result(reader.success.path()) : Result.succeed([])
  if (Result.isSuccess(path)) {
    for (const entry of path.success) {
      assert.isTrue(
        sound.entries.some(({ text }) => text === entry.text),
        `${name}: the path`
      )
    }
  }
  return { findings, readable, entryCount } satisfies Seen
}, Effect.scoped)

const byName = (files: DiskFiles): ReadonlyMap<string, Buffer> =>
  new Map(Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes)]))

/** Files that are replaced as a whole, and whose contents can be rebuilt. */
const isReplaced = (path: string): boolean => /(manifest|active)\.json$/.test(path)

/** Fails unless every byte is still there, or in a quarantine copy. */
const nothingLost = (before: DiskFiles, after: DiskFiles, name: string, damagedPath: string): void => {
  for (const [path, bytes] of Object.entries(before)) {
    if (path.endsWith("/") || (isReplaced(path) && path !== damagedPath)) continue
    const now = Buffer.from(after[path] ?? [])
    const was = Buffer.from(bytes)
    if (now.subarray(0, was.length).equals(was)) continue
    const base = `/d/s1.v2/quarantine/${path.split("/").at(-1)}.`
    const kept = Object.entries(after).some(([copy, content]) => {
      if (!copy.startsWith(base) || copy.endsWith(".reason.json")) return false
      const offset = Number(copy.slice(base.length).split(".")[0])
      return (
        was.subarray(offset).equals(content) &&
        (isReplaced(path) || was.subarray(0, offset).equals(now.subarray(0, offset)))
      )
    })
    assert.isTrue(kept, `${name}: bytes of ${path} are gone without a copy`)
  }
}

/** Result for one damaged store. */
export interface Outcome {
  readonly noticed: boolean
  readonly readable: number
  readonly opened: "whole" | "mended" | "refused"
  readonly reason: string
}

/** Checks the damaged files. `deep` also opens for writing, twice. */
export const examine = Effect.fnUntraced(function* (
  sound: Sound,
  damagedPath: string,
  files: DiskFiles,
  name: string,
  deep: boolean
) {
  const looked = yield* on(files, look(sound, name, deep))
  const seen = Result.getOrThrow(looked.result)
  const noticed = seen.findings.length > 0
  if (!deep) return { noticed, readable: seen.readable, opened: "whole", reason: "" } satisfies Outcome
  assert.deepStrictEqual(Files.changed(byName(files), byName(looked.files)), [], `${name}: reading changed something`)
  const opening = Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* (yield* SessionStore).writer(location, options)
      return writer.repairs
    })
  )
  const first = yield* on(files, opening)
  nothingLost(files, first.files, name, damagedPath)
  if (Result.isFailure(first.result)) {
    assert.isTrue(isTyped(first.result.failure), name)
    const second = yield* on(first.files, opening)
    assert.isTrue(Result.isFailure(second.result), `${name}: refused once only`)
    assert.deepStrictEqual(Files.changed(byName(first.files), byName(second.files)), [], `${name}: refused twice`)
    return {
      noticed,
      readable: seen.readable,
      opened: "refused",
      reason: first.result.failure.message
    } satisfies Outcome
  }
  const second = yield* on(first.files, opening)
  assert.deepStrictEqual(Result.getOrThrow(second.result), [], `${name}: repaired twice`)
  assert.deepStrictEqual(
    Files.changed(byName(first.files), byName(second.files)),
    [],
    `${name}: the second opening changes something`
  )
  const after = Result.getOrThrow((yield* on(second.files, look(sound, `${name}, opened`, true))).result)
  const opened = Files.changed(byName(files), byName(first.files)).length === 0 ? "whole" : "mended"
  return {
    noticed,
    readable: after.readable,
    opened,
    reason: after.findings.join("; ")
  } satisfies Outcome
})
