/**
 * Conditions on a session after a crash: every acknowledged entry is there, in order and byte for byte; attempted entries
 * are there whole or not at all, without a gap; nothing else is there.
 *
 * Programs under test record attempted and acknowledged lines in a ledger. The session's bytes must be a prefix of the
 * attempted lines that contains all acknowledged ones.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import * as Session from "@pi-sessions/core/Session"
import * as TestClock from "effect/testing/TestClock"
import type * as CrashExplorer from "@pi-sessions/testing/disk/CrashExplorer"
import * as DiskImage from "@pi-sessions/testing/disk/DiskImage"
import type * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import type * as MigrationEvent from "../../src/wire/MigrationEvent.ts"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import type * as StoreWriter from "../../src/StoreWriter.ts"
import * as StoreVerify from "../../src/StoreVerify.ts"
import * as StoreLayer from "./storeLayer.ts"
import * as sessions from "./sessions.ts"

/** A promise of a program: a line of the session, or a finished step. Some steps leave a store that needs no repair. */
export type Promised = { readonly line: string } | { readonly step: string; readonly settles: boolean }

export type Ledger = CrashExplorer.Ledger<Promised>

/** What a test knows about a disk. */
export interface Known {
  readonly acknowledged: ReadonlyArray<Promised>
  readonly attempted: ReadonlyArray<Promised>
  /** A file of an earlier format that must not change, and its bytes. */
  readonly source?: { readonly path: string; readonly bytes: Buffer } | undefined
}

export const location = { directory: "/sessions", sessionId: "s1" }

/** An empty directory for sessions, and files in it. */
export const imageOf = (files: DiskImage.Files = {}): DiskImage.DiskImage =>
  DiskImage.fromFiles({ [`${location.directory}/`]: "", ...files })

const linesOf = (promised: ReadonlyArray<Promised>): ReadonlyArray<string> =>
  promised.flatMap((one) => ("line" in one ? [one.line] : []))

export const bytesOf = (lines: ReadonlyArray<string>): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""))

export class Wrong extends Error {
  override readonly name = "Wrong"
}

const wrong = (reason: string) => Effect.fail(new Wrong(reason))

/** Fails unless the bytes are a prefix of the attempted lines and contain the acknowledged ones. */
export const holds = Effect.fnUntraced(function* (where: string, bytes: Buffer, known: Known) {
  const attempted = linesOf(known.attempted)
  const promised = bytesOf(linesOf(known.acknowledged))
  const possible = bytesOf(attempted)
  if (bytes.length < promised.length) {
    const there = bytes.toString().split("\n").length - 1
    return yield* wrong(`${where}: ${there} lines of ${linesOf(known.acknowledged).length} acknowledged`)
  }
  if (!bytes.equals(possible.subarray(0, bytes.length))) {
    let at = 0
    while (at < bytes.length && bytes[at] === possible[at]) at++
    const line = possible.toString("latin1", 0, at).split("\n").length
    return yield* wrong(`${where}: from byte ${at} on (line ${line}) it is not what was written`)
  }
  if (bytes.length > 0 && bytes.at(-1) !== 0x0a) return yield* wrong(`${where}: it breaks off within a line`)
})

/** The whole session through a reader. */
export const readNative = Effect.gen(function* () {
  const store = yield* SessionStore
  const reader = yield* store.reader(location)
  const pieces = yield* Stream.runCollect(reader.payloads)
  const bytes = Buffer.concat(pieces.flat())
  if (reader.entryCount + 1 !== bytes.toString("latin1").split("\n").length - 1) {
    return yield* wrong(`the reader counts ${reader.entryCount} entries, and gives others`)
  }
  return bytes
}).pipe(Effect.scoped)

const readFile = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return Buffer.from(yield* fs.readFile(path))
})

/** The active store of the session and its bytes; undefined when there is none yet. */
export const readActive = Effect.fnUntraced(function* (known: Known) {
  const store = yield* SessionStore
  const active = yield* store.active(location)
  if (active === undefined) {
    return known.source === undefined ? undefined : { from: "source", bytes: yield* readFile(known.source.path) }
  }
  if (active.active === "native_v2") return { from: "container", bytes: yield* readNative }
  return { from: active.path, bytes: yield* readFile(`${location.directory}/${active.path}`) }
})

/** The paths where two images differ. */
export const difference = (before: DiskImage.DiskImage, after: DiskImage.DiskImage): ReadonlyArray<string> => {
  const one = new Map(DiskImage.paths(before))
  const other = new Map(DiskImage.paths(after))
  return [...new Set([...one.keys(), ...other.keys()])].filter((path) => {
    const [a, b] = [one.get(path), other.get(path)]
    if (a === undefined || b === undefined) return true
    const [left, right] = [before.files.get(a), after.files.get(b)]
    return left !== right && Buffer.compare(left ?? Buffer.alloc(0), right ?? Buffer.alloc(0)) !== 0
  })
}

const FOLLOWS: { readonly [phase in MigrationEvent.Phase]: ReadonlyArray<MigrationEvent.Phase | undefined> } = {
  planned: [undefined, "planned"],
  staged: ["planned"],
  verified: ["staged"],
  completed: ["verified"],
  aborted: ["planned", "staged"],
  rollback_planned: [undefined, "verified", "completed", "rollback_planned", "rolled_back"],
  rolled_back: ["rollback_planned", "verified"],
  recovered: [undefined, "recovered"]
}

/** Why the events of a ledger are out of order; undefined when they are in order. */
export const unlinked = (events: ReadonlyArray<MigrationEvent.MigrationEvent>): string | undefined => {
  const last = new Map<string, MigrationEvent.MigrationEvent>()
  for (const event of events) {
    const before = last.get(event.correlation_id)
    if (!FOLLOWS[event.phase].includes(before?.phase)) {
      return `${event.phase} follows ${before?.phase ?? "nothing"} in ${event.correlation_id}`
    }
    if (event.session_id !== location.sessionId) return `an event of session ${event.session_id}`
    last.set(event.correlation_id, event)
  }
  return undefined
}

/** Opens the store for writing, uses the writer, and closes it. */
export const withWriter = <A, E, R>(
  use: (writer: StoreWriter.StoreWriter) => Effect.Effect<A, E, R>,
  options?: StoreWriter.WriterOptions
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const store = yield* SessionStore
      return yield* Effect.flatMap(store.writer(location, options), use)
    })
  )

const checkSource = Effect.fnUntraced(function* ({ source }: Known) {
  if (source === undefined) return
  if (!(yield* readFile(source.path)).equals(source.bytes)) return yield* wrong("the source was changed")
})

/** Fails unless verify has no finding and the ledger is in order. */
const checkWhole = Effect.fnUntraced(function* (when: string) {
  const store = yield* SessionStore
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(`${location.directory}/${location.sessionId}.v2`))) return
  const report = yield* store.verify(location)
  // Verify reports a container without a marker, which is not a store yet.
  const hasMarker = (yield* store.active(location)) !== undefined
  const first = report.findings.find(({ path }) => hasMarker || !path.endsWith(".active.json"))
  if (first !== undefined) return yield* wrong(`${when}: verify: ${StoreVerify.format(first)}`)
  const migration = yield* StoreMigration
  const why = unlinked(yield* migration.ledger(location))
  if (why !== undefined) return yield* wrong(`${when}: ledger: ${why}`)
})

/** Opens a store, if there is one, for writing and closes it. Returns the repairs. */
export const open = Effect.gen(function* () {
  const store = yield* SessionStore
  return yield* withWriter((writer) => Effect.succeed({ entryCount: writer.entryCount, repairs: writer.repairs })).pipe(
    Effect.catchTag("StoreNotActive", () => Effect.succeed(undefined)),
    Effect.catchTag("StoreNotFound", (error) =>
      Effect.flatMap(store.active(location), (active) => (active === undefined ? Effect.void : Effect.fail(error)))
    ),
    // A container that never got its marker is no store: nothing was acknowledged.
    Effect.catchTag("StoreDamaged", (error) =>
      Effect.flatMap(store.active(location), (active) => (active === undefined ? Effect.void : Effect.fail(error)))
    )
  )
})

/** Checks a disk after a crash, before and after opening the store for writing. */
export const check = Effect.fnUntraced(function* (known: Known, machine: FaultyFileSystem.FaultyFileSystem) {
  const promised = linesOf(known.acknowledged).length
  yield* checkSource(known)
  const before = yield* readActive(known)
  if (before === undefined && promised > 0) return yield* wrong("there is no session")
  if (before !== undefined) yield* holds(`before recovery, ${before.from}`, before.bytes, known)
  const last = known.acknowledged.at(-1)
  const isSettled =
    last !== undefined && "step" in last && last.settles && known.attempted.length === known.acknowledged.length
  if (isSettled) yield* checkWhole("before recovery")
  const opened = yield* open
  yield* checkSource(known)
  const after = yield* readActive(known)
  if (before !== undefined && after === undefined) return yield* wrong("recovery took the session away")
  if (after === undefined) return undefined
  yield* holds(`after recovery, ${after.from}`, after.bytes, known)
  if (opened !== undefined && before !== undefined && !after.bytes.equals(before.bytes)) {
    return yield* wrong("recovery gives other entries than a reader before it")
  }
  if (isSettled && opened !== undefined && opened.repairs.length > 0) {
    return yield* wrong(`a store that was whole was repaired: ${opened.repairs.join("; ")}`)
  }
  yield* checkWhole("after recovery")
  const image = machine.disk.image()
  const calls = machine.operations.length
  const again = yield* open
  if ((again?.repairs.length ?? 0) > 0) return yield* wrong(`opened again, it repairs ${again?.repairs.join("; ")}`)
  const changing = machine.operations.slice(calls).find(({ call, changes }) => changes && call !== "sync")
  if (changing !== undefined) return yield* wrong(`opened again, it calls ${changing.call} ${changing.path}`)
  const changed = difference(image, machine.disk.image())
  if (changed.length > 0) return yield* wrong(`opened again, it changes ${changed.join(", ")}`)
  return after
})

/** Appends a new entry, and the last one again. */
const appendMore = Effect.fnUntraced(function* (bytes: Buffer) {
  const entries = Session.read(bytes).tree.getEntries()
  const last = entries.at(-1)
  const next = sessions.entryLine("after-the-crash", last?.id ?? null)
  const used = yield* withWriter(
    Effect.fnUntraced(function* (writer) {
      if (last !== undefined && (yield* writer.append(last)).written) return "an entry that was there was written again"
      if (!(yield* writer.append(next)).written) return "a new entry was taken as known"
      return undefined
    })
  )
  if (used !== undefined) return yield* wrong(used)
  const after = yield* readNative
  if (!after.equals(Buffer.concat([bytes, bytesOf([next.text])]))) {
    return yield* wrong("the session does not go on where it was")
  }
  yield* checkWhole("after going on")
})

/** Repeats what was interrupted, and continues the session. */
export const goOn = Effect.fnUntraced(function* (
  after: { readonly from: string; readonly bytes: Buffer } | undefined,
  known: Known
) {
  const store = yield* SessionStore
  const migration = yield* StoreMigration
  // Later steps have a later time than the crash.
  yield* TestClock.adjust("1 minute")
  if (after === undefined) {
    yield* Effect.scoped(store.create(location.directory, sessions.headerLine(location.sessionId)))
    return yield* appendMore(yield* readNative)
  }
  if (after.from !== "container") {
    const path = after.from === "source" ? known.source?.path : `${location.directory}/${after.from}`
    const { outcome } = yield* migration.migrate(path ?? "")
    if (outcome !== "migrated") return yield* wrong(`migrating ${path} is ${outcome}`)
    if (!(yield* readNative).equals(after.bytes)) return yield* wrong("what was migrated is not what was there")
  }
  yield* appendMore(after.bytes)
  yield* checkSource(known)
  const leaves = (yield* migration.rollback(location)).path
  const back = Session.read(yield* readFile(leaves)).tree.getEntries()
  if (back.at(-1)?.id !== "after-the-crash") return yield* wrong("a rollback leaves an entry behind")
  yield* checkWhole("after a rollback")
  yield* checkSource(known)
})

/** The services of a store on a machine. */
export const over = (machine: FaultyFileSystem.FaultyFileSystem) => StoreLayer.over(machine.layer)
