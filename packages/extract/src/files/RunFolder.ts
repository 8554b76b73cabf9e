/**
 * Where a run writes before it is done: a hidden folder in the directory that it writes to. A run that was interrupted or
 * killed leaves its folder, with a journal of the parts that were written whole; the next run with the same settings
 * takes them from there. Every run deletes the folders of runs that have ended, also one that finds nothing to do.
 *
 * A run holds a lock on a file in its folder, which the kernel lets go of when the process dies. So a folder is known to
 * be left over, also one of a process whose number another process has now, and one of another container.
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
/** What a folder is called in one that took it over. */
const TAKEN = /^\d+-[0-9a-f]{12}-/u
const JOURNAL_FILE = "parts.jsonl"
const LOCK_FILE = "lock"

/** A part that was written, under the key of what it was made of. */
export const JournaledPart = Schema.Struct({ key: Schema.String, part: StoredPart })
export type JournaledPart = typeof JournaledPart.Type
const JournalLine = Schema.fromJsonString(JournaledPart)
const decodeLine = Schema.decodeUnknownResult(JournalLine)

/** Names of the folders that this process writes to. */
const mine = new Set<string>()

export interface RunFolder {
  readonly path: string
  /** What runs left that did not come to their end, by key. Each must be asked whether it is whole. */
  readonly earlier: ReadonlyMap<string, StoredPart>
  /** A new file of lines in the folder. */
  readonly create: (name: string) => Effect.Effect<LinesFile.LinesFile, SessionFileError>
  /** Tells that a part is in the folder's files. */
  readonly record: (part: JournaledPart) => Effect.Effect<void, SessionFileError>
  /** From here on nothing of the folder is needed. */
  readonly done: Effect.Effect<void>
}

/** Parts and bytes after which what was written is journaled. */
const JOURNAL_PARTS = 200
const JOURNAL_BYTES = 8 << 20

/**
 * Makes the folder in `out`, which must exist. It goes with the scope, unless that was interrupted. What runs that are no
 * more left goes with it, and is made use of unless everything is to be made anew.
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
  // The files stay open until it is written down what is in them.
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
  mine.add(name)
  yield* fs.makeDirectory(folder, { mode: 0o700 }).pipe(Effect.mapError(fromPlatform(folder, "write")))
  const sqlite = yield* Effect.provide(Sqlite, Sqlite.layer)
  // It gets its name once it is locked, so that nobody finds it unlocked. Without one (no space, a file system that has
  // no locks) the process's number tells that the run is alive.
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
  // Whoever is interrupted has time to say how far it came.
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

/** Takes the folders of runs that have ended into the new one. */
const takeOver = Effect.fnUntraced(function* (out: string, folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const parts = new Map<string, StoredPart>()
  for (const name of yield* namesIn(out)) {
    const at = path.resolve(out, name)
    if (at === folder) continue
    const taken = path.join(folder, name.slice(PREFIX.length))
    // Of two runs that take it, the second finds nothing there.
    if (yield* ifEnded(at, Effect.isSuccess(fs.rename(at, taken)))) yield* readFolder(taken, parts)
  }
  return parts
})

/** Deletes the folders of runs that have ended, for a run that makes no folder of its own. */
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

/** Runs `work` unless somebody still writes to the folder, and holds its lock meanwhile. */
const ifEnded = Effect.fnUntraced(function* (folder: string, work: Effect.Effect<boolean>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const name = path.basename(folder)
  if (mine.has(name)) return false
  const lock = path.join(folder, LOCK_FILE)
  if (!(yield* Effect.orElseSucceed(fs.exists(lock), () => false))) {
    // It is just being made, or its run could not lock it.
    return (yield* mayBeAlive(folder)) ? false : yield* work
  }
  const sqlite = yield* Effect.provide(Sqlite, Sqlite.layer)
  return yield* Effect.scoped(
    Effect.andThen(Effect.isSuccess(sqlite.lock(lock)), (isOurs) => (isOurs ? work : Effect.succeed(false)))
  )
})

/** What a folder holds, and those that it took over itself. */
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
    // The last line may be torn.
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

/** A folder of another machine that nobody wrote to for so long is of a run that has ended. */
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
