/**
 * Appends to a thread in a JSONL file. Each batch is one write, synced before it is acknowledged. A torn line of an
 * earlier crash stays as it is; the next batch starts on a new line.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { isObject, stringAt } from "@pi-sessions/core/Json"
import { valueOf } from "@pi-sessions/core/LineValue"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { sha256 } from "../internal/sha256.ts"

/** An entry as one line of JSON text. */
export interface EntryText {
  readonly id: string
  readonly text: string
}

/** How many entries of a batch were new, and how many had an id that the thread or the batch had before. */
export interface Appended {
  readonly accepted: number
  readonly repeated: number
}

export interface ThreadFile {
  /** Appends the entries whose ids the file does not hold. Concurrent calls run one after another. */
  readonly append: (entries: ReadonlyArray<EntryText>) => Effect.Effect<Appended, PlatformError.PlatformError>
}

/** In bytes; file systems allow 255. */
const LONGEST_NAME = 200

/**
 * The name of a thread's file in a directory of threads: `<id>.jsonl`. A leading dot and all characters except letters,
 * digits, `.`, `_` and `-` are escaped as `%XX`; a long name ends in its SHA-256. So each id has its own name (on file
 * systems that distinguish capitals).
 */
export const fileName = (threadId: string): string => {
  const name = Buffer.from(threadId, "utf8")
    .toString("latin1")
    .replaceAll(/^\.|[^A-Za-z0-9._-]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`)
  if (name === "") return "%.jsonl"
  if (name.length <= LONGEST_NAME) return `${name}.jsonl`
  return `${name.slice(0, 100)}~${sha256(threadId)}.jsonl`
}

/** The file at `path`, which may be missing. It is read by the first `append`. */
export const make = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<ThreadFile, never, FileSystem.FileSystem | Path.Path> {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const oneAtATime = yield* Semaphore.make(1)
  let known: Known | undefined

  const append = Effect.fn("ThreadFile.append")(function* (entries: ReadonlyArray<EntryText>) {
    const current = yield* refresh(path, known)
    known = current
    const fresh = new Map<string, string>()
    for (const { id, text } of entries) if (!current.ids.has(id) && !fresh.has(id)) fresh.set(id, text)
    if (fresh.size > 0) {
      let lines = ""
      for (const text of fresh.values()) lines += `${text}\n`
      yield* write(path, current, lines)
      for (const id of fresh.keys()) current.ids.add(id)
    }
    return { accepted: fresh.size, repeated: entries.length - fresh.size }
  }, Effect.provideContext(services))

  return { append: (entries) => oneAtATime.withPermits(1)(Effect.uninterruptible(append(entries))) }
})

/** What is known of the file between two batches. */
interface Known {
  readonly ids: Set<string>
  /** In bytes. A file of another size was written by another process. */
  size: number
  /** Whether the file is empty or ends in a newline. */
  whole: boolean
}

/** `known`, read again when the file's size differs. Creates a missing file. */
const refresh = Effect.fnUntraced(function* (path: string, known: Known | undefined) {
  const fs = yield* FileSystem.FileSystem
  const size = yield* fs.stat(path).pipe(
    Effect.map((info) => Number(info.size)),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.undefined)
  )
  if (size === undefined) yield* create(path)
  return known === undefined || size !== known.size ? yield* read(path) : known
})

const create = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const directory = (yield* Path.Path).dirname(path)
  yield* fs.makeDirectory(directory, { recursive: true })
  yield* Effect.scoped(fs.open(path, { flag: "a" }))
  yield* SafeWrite.syncDirectory(directory)
})

/** Syncs the file first, since another process may have left it unsynced, and then reads its ids. */
const read = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.scoped(Effect.flatMap(fs.open(path, { flag: "r+" }), (file) => file.sync))
  const reader = new SessionReader()
  const found: Known = { ids: new Set(), size: 0, whole: true }
  const addIds = (lines: ReadonlyArray<SessionLine>) => {
    for (const line of lines) {
      const id = idOf(line)
      if (id !== undefined) found.ids.add(id)
    }
  }
  yield* Stream.runForEach(fs.stream(path, { chunkSize: 1 << 20 }), (chunk) =>
    Effect.sync(() => {
      addIds(reader.push(chunk))
      found.size += chunk.length
      found.whole = chunk.at(-1) === 0x0a
    })
  )
  addIds(reader.end())
  return found
})

/** Appends `lines`, and updates size and end of `known`, also after a failure. */
const write = Effect.fnUntraced(function* (path: string, known: Known, lines: string) {
  const fs = yield* FileSystem.FileSystem
  const bytes = Buffer.from(known.whole ? lines : `\n${lines}`, "utf8")
  let synced = false
  yield* Effect.scoped(
    Effect.gen(function* () {
      const file = yield* fs.open(path, { flag: "a" })
      yield* file.writeAll(bytes).pipe(
        Effect.andThen(file.sync),
        // Some lines may be written but not synced: their ids are not added, and the next batch starts on a new line.
        Effect.onError(() =>
          Effect.map(Effect.option(file.stat), (info) => {
            known.whole = false
            known.size = Option.match(info, { onNone: () => known.size, onSome: ({ size }) => Number(size) })
          })
        )
      )
      synced = true
    })
    // A failing close is a defect, but synced lines are safe.
  ).pipe(Effect.catchDefect((defect) => (synced ? Effect.void : Effect.die(defect))))
  known.size += bytes.length
  known.whole = true
})

/** The id in a line. The reader takes thread entries of type `session` for headers, so such lines are parsed here. */
const idOf = (line: SessionLine): string | undefined => {
  if (line instanceof SessionEntry) return typeof line.idValue === "string" ? line.idValue : undefined
  const value = valueOf(line)
  return value !== undefined && isObject(value) ? stringAt(value, "id") : undefined
}
