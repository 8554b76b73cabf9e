/**
 * Where a run writes before it is done: a hidden folder in the directory that it writes to. A run that was interrupted or
 * killed leaves its folder, with a journal of the parts that were written whole; the next run with the same settings
 * takes them from there.
 */
import { createHash } from "node:crypto"
import * as Os from "node:os"
import * as process from "node:process"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { StoredPart } from "./DatasetPart.ts"
import * as LooseFile from "./LooseFile.ts"
import * as LinesFile from "./LinesFile.ts"

/** `.run-PROCESS-MACHINE-UUID` */
const PREFIX = ".run-"
/** What a folder is called in one that took it over. */
const TAKEN = /^\d+-[0-9a-f]{12}-/u
const JOURNAL_FILE = "parts.jsonl"

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
      pending.push(encoder.encode(JSON.stringify(part)))
      for (const { range } of part.part.pieces) pendingBytes += range.bytes
      return pending.length < JOURNAL_PARTS && pendingBytes < JOURNAL_BYTES ? Effect.void : write
    })
  return { path: folder, earlier, create, record, done: Effect.sync(() => void (isDone = true)) }
})

/** Takes the folders of runs that are no more into the new one. */
const takeOver = Effect.fnUntraced(function* (out: string, folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const parts = new Map<string, StoredPart>()
  const names = yield* fs.readDirectory(out).pipe(Effect.mapError(fromPlatform(out, "read")))
  for (const name of names.filter((name) => name.startsWith(PREFIX)).sort()) {
    const at = path.resolve(out, name)
    if (at === folder || isAlive(name)) continue
    // Who is second finds nothing there.
    const taken = path.join(folder, name.slice(PREFIX.length))
    if (!(yield* Effect.isSuccess(fs.rename(at, taken)))) continue
    yield* readFolder(taken, parts)
  }
  return parts
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
    const pieces = part.pieces.map((piece) => {
      return { ...piece, range: { ...piece.range, path: path.join(folder, path.basename(piece.range.path)) } }
    })
    const files = part.files?.map((file) => ({ ...file, path: LooseFile.pathIn(path, folder, file.sha256) }))
    parts.set(key, { ...part, pieces, ...(files === undefined ? {} : { files }) })
  }
})

const machine = (): string => createHash("sha256").update(Os.hostname()).digest("hex").slice(0, 12)

/** Whether somebody still writes to a folder of this name. On another machine nobody can tell, so it is left alone. */
const isAlive = (name: string): boolean => {
  const [pid, host] = name.slice(PREFIX.length).split("-")
  if (host !== machine()) return true
  if (pid === String(process.pid)) return mine.has(name)
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    // Somebody else's process is one too.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}
