/**
 * The hidden folder in `out` that a run writes to before it publishes. An interrupted or killed run leaves its folder, with
 * a journal of the complete parts, which the next run with the same settings reuses. Every run deletes the folders of runs
 * that have ended.
 *
 * A run locks a file in its folder; the kernel releases the lock when the process dies. A lock that is free means that the
 * run has ended, also when another process has its number now, or when it ran in another container.
 */
import { createHash } from "node:crypto"
import * as Os from "node:os"
import * as process from "node:process"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import * as DatasetPart from "../parts/DatasetPart.ts"
import { StoredPart } from "../parts/DatasetPart.ts"
import * as LooseFile from "./LooseFile.ts"
import * as LinesFile from "./LinesFile.ts"

/** `.run-PROCESS-MACHINE-UUID` */
const PREFIX = ".run-"
/** The name of a folder inside the folder that took it over. */
const TAKEN = /^\d+-[0-9a-f]{12}-/u
const JOURNAL_FILE = "parts.jsonl"
const LOCK_FILE = "lock"

/** A part that was written, and its key. */
export const JournaledPart = Schema.Struct({ key: Schema.String, part: StoredPart })
export type JournaledPart = typeof JournaledPart.Type
const JournalLine = Schema.fromJsonString(JournaledPart)
const decodeLine = Schema.decodeUnknownResult(JournalLine)

/** Names of this process's folders. */
const mine = new Set<string>()

export interface RunFolder {
  readonly path: string
  /** Parts of interrupted runs, by key. Call `isWhole` before reusing one. */
  readonly earlier: ReadonlyMap<string, StoredPart>
  /** Creates a file of lines in the folder. */
  readonly create: (name: string) => Effect.Effect<LinesFile.LinesFile, SessionFileError>
  /** Journals a part whose lines are in the folder's files. */
  readonly record: (part: JournaledPart) => Effect.Effect<void, SessionFileError>
  /** Call it when everything is published: the folder is deleted even when the run is interrupted. */
  readonly done: Effect.Effect<void>
}

/** Parts are journaled in batches of so many parts or bytes. */
const JOURNAL_PARTS = 200
const JOURNAL_BYTES = 8 << 20

/**
 * Creates the folder in `out`, which must exist. It is deleted with the scope, unless that was interrupted. Takes over the
 * folders of runs that have ended; with `isFresh` their parts are not reused.
 */
export const open = Effect.fn("RunFolder.open")(function* (
  out: string,
  isFresh = false
): Effect.fn.Return<RunFolder, SessionFileError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const name = `${PREFIX}${process.pid}-${machine()}-${globalThis.crypto.randomUUID()}`
  const folder = path.resolve(out, name)
  let isDone = false
  let recorded = 0
  let found = 0
  yield* Effect.addFinalizer((exit) =>
    Effect.suspend(() => {
      mine.delete(name)
      if ((recorded > 0 || found > 0) && !isDone && Exit.hasInterrupts(exit)) return Effect.void
      return Effect.ignore(fs.remove(folder, { recursive: true, force: true }))
    })
  )
  // The files stay open until the journal is complete.
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
  mine.add(name)
  yield* fs.makeDirectory(folder, { mode: 0o700 }).pipe(Effect.mapError(fromPlatform(folder, "write")))
  const sqlite = yield* Effect.provide(Sqlite, Sqlite.layer)
  // The file is locked before it gets its name, so that no other run finds it unlocked. Without a lock (no space, a file
  // system without locks) the process number shows whether the run is alive.
  const lock = path.join(folder, LOCK_FILE)
  yield* Effect.ignore(Effect.andThen(sqlite.lock(`${lock}.new`), fs.rename(`${lock}.new`, lock)))
  const left = yield* takeOver(out, folder)
  const earlier = isFresh ? new Map<string, StoredPart>() : left
  found = earlier.size

  const files: Array<LinesFile.LinesFile> = []
  const create = (name: string) =>
    LinesFile.create(path.join(folder, name)).pipe(
      Effect.tap((file) => Effect.sync(() => files.push(file))),
      Scope.provide(scope),
      Effect.provideService(FileSystem.FileSystem, fs)
    )
  const journal = yield* LinesFile.create(path.join(folder, JOURNAL_FILE)).pipe(Scope.provide(scope))
  let pending: Array<Uint8Array> = []
  let pendingBytes = 0
  const encoder = new TextEncoder()
  const write = Effect.suspend(() => {
    const lines = pending
    pending = []
    pendingBytes = 0
    recorded += lines.length
    return Effect.forEach(files, (file) => file.flush, { discard: true }).pipe(
      Effect.andThen(journal.append(lines)),
      Effect.andThen(journal.flush)
    )
  })
  // An interrupted run journals its last batch.
  yield* Effect.addFinalizer((exit) =>
    Exit.hasInterrupts(exit) && pending.length > 0 ? Effect.ignore(write) : Effect.void
  )
  const record = (part: JournaledPart) =>
    Effect.suspend(() => {
      pending.push(encoder.encode(JSON.stringify({ ...part, part: DatasetPart.withoutFolder(path, part.part) })))
      for (const { range } of part.part.pieces) pendingBytes += range.bytes
      return pending.length < JOURNAL_PARTS && pendingBytes < JOURNAL_BYTES ? Effect.void : write
    })
  return { path: folder, earlier, create, record, done: Effect.sync(() => void (isDone = true)) }
})

/** Moves the folders of runs that have ended into the new one, and reads their journals. */
const takeOver = Effect.fnUntraced(function* (out: string, folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const parts = new Map<string, StoredPart>()
  for (const name of yield* namesIn(out)) {
    const at = path.resolve(out, name)
    if (at === folder) continue
    const taken = path.join(folder, name.slice(PREFIX.length))
    // When two runs try this, one rename fails.
    if (yield* ifEnded(at, Effect.isSuccess(fs.rename(at, taken)))) yield* readFolder(taken, parts)
  }
  return parts
})

/** Deletes the folders of runs that have ended, for an operation without a folder of its own. */
export const sweep = Effect.fn("RunFolder.sweep")(function* (
  out: string
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (const name of yield* namesIn(out)) {
    const at = path.resolve(out, name)
    yield* ifEnded(at, Effect.isSuccess(fs.remove(at, { recursive: true, force: true })))
  }
})

const namesIn = Effect.fnUntraced(function* (out: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs.readDirectory(out).pipe(Effect.mapError(fromPlatform(out, "read")))
  return names.filter((name) => name.startsWith(PREFIX)).sort()
})

/** Runs `work` if the folder's run has ended, under the folder's lock. False: it has not ended, or `work` failed. */
const ifEnded = Effect.fnUntraced(function* (folder: string, work: Effect.Effect<boolean>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const name = path.basename(folder)
  if (mine.has(name)) return false
  const lock = path.join(folder, LOCK_FILE)
  if (!(yield* Effect.orElseSucceed(fs.exists(lock), () => false))) {
    // The folder is being created, or its run could not lock it.
    return (yield* mayBeAlive(folder)) ? false : yield* work
  }
  const sqlite = yield* Effect.provide(Sqlite, Sqlite.layer)
  return yield* Effect.scoped(
    Effect.andThen(Effect.isSuccess(sqlite.lock(lock)), (isOurs) => (isOurs ? work : Effect.succeed(false)))
  )
})

/** Reads the journals of a folder and of those that it took over. */
const readFolder = Effect.fnUntraced(function* (
  folder: string,
  parts: Map<string, StoredPart>
): Effect.fn.Return<void, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (const name of yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])) {
    if (TAKEN.test(name)) yield* readFolder(path.join(folder, name), parts)
  }
  const text = yield* Effect.orElseSucceed(fs.readFileString(path.join(folder, JOURNAL_FILE)), () => "")
  for (const line of text.split("\n")) {
    const read = decodeLine(line)
    // The last line may be incomplete.
    if (Result.isFailure(read)) continue
    const { key, part } = read.success
    const linesAt = (at: string) => path.join(folder, path.basename(at))
    parts.set(
      key,
      DatasetPart.relocated(part, linesAt, (file) => LooseFile.pathIn(path, folder, file.sha256))
    )
  }
})

const machine = (): string => createHash("sha256").update(Os.hostname()).digest("hex").slice(0, 12)

/** A run on another machine has ended when its folder did not change for so long. */
const SILENT_MS = 24 * 60 * 60 * 1000

/** Whether the run of a folder without a lock may be alive. */
const mayBeAlive = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const [pid, host] = path.basename(folder).slice(PREFIX.length).split("-")
  if (host !== machine()) {
    const info = yield* Effect.option(fs.stat(folder))
    const changed = Option.flatMap(info, ({ mtime }) => mtime)
    const now = yield* Clock.currentTimeMillis
    return Option.isNone(changed) || now - changed.value.getTime() < SILENT_MS
  }
  if (pid === String(process.pid)) return false
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    // A process of another user is alive, too.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
})
