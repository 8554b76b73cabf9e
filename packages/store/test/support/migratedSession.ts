/** A small session file in a folder of its own, and its container: helpers for tests of migration and recovery. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Effect, type Scope, Stream } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as Manifest from "../../src/wire/Manifest.ts"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Sessions from "./sessions.ts"
import * as Store from "./storeLayer.ts"

export const entries = Sessions.chain(6)
export const bytes = Sessions.fileOf(Sessions.headerLine(), entries)
export const later = Sessions.entryLine("later", "e6")

export const inFolder = Effect.gen(function* () {
  const directory = yield* memoryFolder
  const file = Path.join(directory, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  const container = Path.join(directory, "s1.v2")
  return {
    directory,
    file,
    container,
    location: { directory, sessionId: "s1" },
    ledger: Path.join(container, "migrations", "ledger.jsonl"),
    manifest: Path.join(container, "manifest.json"),
    marker: Path.join(directory, "s1.active.json"),
    offsets: Path.join(container, "index", "offsets.jsonl")
  }
})

export const migrated = Effect.tap(inFolder, ({ file }) =>
  Effect.flatMap(StoreMigration, (migration) => migration.migrate(file, { segmentBytes: 600 }))
)

export const flip = (file: string, at: number): void => {
  const broken = Fs.readFileSync(file)
  broken[at] = (broken[at] ?? 0) ^ 1
  Fs.writeFileSync(file, broken)
}

/** Offset of the middle of a line, lines counted from 0. */
export const insideLine = (file: string, line: number): number =>
  Fs.readFileSync(file, "latin1")
    .split("\n")
    .slice(0, line)
    .reduce((at, text) => at + text.length + 1, 20)

export const segment = (container: string, seq: number): string =>
  Path.join(container, "segments", `${String(seq).padStart(16, "0")}.seg`)

export const write = (location: { readonly directory: string; readonly sessionId: string }) =>
  Effect.scoped(Effect.flatMap(SessionStore, (store) => Effect.map(store.writer(location), (writer) => writer.repairs)))

export const live = <A, E>(program: Effect.Effect<A, E, SessionStore | StoreMigration | Scope.Scope>) =>
  program.pipe(Effect.scoped, Effect.provide(Store.live))

export const phases = Effect.fnUntraced(function* (location: {
  readonly directory: string
  readonly sessionId: string
}) {
  const events = yield* (yield* StoreMigration).ledger(location)
  return events.map(({ outcome, phase }) => (outcome === "ok" ? phase : `${phase} (${outcome})`))
})

/** The bytes that a container gives back. */
export const payloads = (location: { readonly directory: string; readonly sessionId: string }) =>
  Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* (yield* SessionStore).reader(location)
      const pieces = yield* Stream.runCollect(reader.payloads)
      return Buffer.concat(pieces.flat())
    })
  )

/** Rewrites a container's manifest, with a valid checksum. */
export const rewriteManifest = (container: string, changes: Partial<Manifest.Manifest>): void => {
  const file = Path.join(container, "manifest.json")
  const { crc32: _crc32, ...manifest } = JSON.parse(Fs.readFileSync(file, "utf8"))
  Fs.writeFileSync(file, Manifest.encode({ ...manifest, ...changes }))
}
