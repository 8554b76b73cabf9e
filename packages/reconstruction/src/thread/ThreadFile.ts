/**
 * A thread kept as a JSONL file, and written so that nothing that was there is ever lost: whole lines are appended,
 * each batch in one write that is synced before it is acknowledged. A line that an earlier crash tore off stays as it
 * is, and the next batch begins on a line of its own.
 */
import { createHash } from "node:crypto"
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

/** An entry ready to be stored: its id, and its JSON text, which is one line. */
export interface EntryText {
  readonly id: string
  readonly text: string
}

/** How many entries of a batch were new, and how many the thread had already, or came twice in the batch. */
export interface Appended {
  readonly accepted: number
  readonly repeated: number
}

export interface ThreadFile {
  /** Appends those entries whose ids the file does not hold. Batches follow one another, however many are asked for. */
  readonly append: (entries: ReadonlyArray<EntryText>) => Effect.Effect<Appended, PlatformError.PlatformError>
}

/** Names stay well under the 255 bytes that file systems allow. */
const LONGEST_NAME = 200

/**
 * The name of a thread's file in a directory of threads: `<id>.jsonl`. Whatever is no letter, digit, `.`, `_` or `-` is
 * escaped as `%XX`, a leading dot too, and a long name ends in its SHA-256, so that any id has a name and no two share
 * one (where the file system tells capitals from small letters).
 */
export const fileName = (threadId: string): string => {
  const name = Buffer.from(threadId, "utf8")
    .toString("latin1")
    .replaceAll(/^\.|[^A-Za-z0-9._-]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`)
  if (name === "") return "%.jsonl"
  if (name.length <= LONGEST_NAME) return `${name}.jsonl`
  return `${name.slice(0, 100)}~${createHash("sha256").update(threadId).digest("hex")}.jsonl`
}

/** What is known of the file between two batches. */
interface Known {
  readonly ids: Set<string>
  /** Bytes in the file; another number means that somebody else wrote to it. */
  size: number
  /** Whether the last byte is a newline, or there is none. */
  whole: boolean
}

/** The file at `path`, which need not be there. It is read when the first batch comes. */
export const make = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<ThreadFile, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const paths = yield* Path.Path
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const oneAtATime = yield* Semaphore.make(1)
  let known: Known | undefined

  const sizeOf = Effect.map(fs.stat(path), (info) => Option.some(Number(info.size))).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(Option.none<number>()))
  )

  /** Reads which ids the file holds. It is synced first: what another process left unsynced is no basis for a reply. */
  const look = Effect.fnUntraced(function* () {
    yield* Effect.scoped(Effect.flatMap(fs.open(path, { flag: "r+" }), (file) => file.sync))
    const reader = new SessionReader()
    const found: Known = { ids: new Set(), size: 0, whole: true }
    const note = (lines: ReadonlyArray<SessionLine>) => {
      for (const line of lines) {
        const id = idOf(line)
        if (id !== undefined) found.ids.add(id)
      }
    }
    yield* Stream.runForEach(fs.stream(path, { chunkSize: 1 << 20 }), (chunk) =>
      Effect.sync(() => {
        note(reader.push(chunk))
        found.size += chunk.length
        found.whole = chunk.at(-1) === 0x0a
      })
    )
    note(reader.end())
    return found
  })

  const create = Effect.fnUntraced(function* () {
    const directory = paths.dirname(path)
    yield* fs.makeDirectory(directory, { recursive: true })
    yield* Effect.scoped(fs.open(path, { flag: "a" }))
    yield* SafeWrite.syncDirectory(directory)
  }, Effect.provideContext(services))

  const current = Effect.fnUntraced(function* () {
    const size = yield* sizeOf
    if (Option.isNone(size)) yield* create()
    if (known === undefined || Option.getOrElse(size, () => -1) !== known.size) known = yield* look()
    return known
  })

  const write = Effect.fnUntraced(function* (known: Known, lines: string) {
    const bytes = Buffer.from(known.whole ? lines : `\n${lines}`, "utf8")
    let synced = false
    yield* Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(path, { flag: "a" })
        yield* file.writeAll(bytes).pipe(
          Effect.andThen(file.sync),
          // Some of it may stand there, and is not to be relied on: its ids stay unknown, and a newline comes first.
          Effect.onError(() =>
            Effect.map(Effect.option(file.stat), (info) => {
              known.whole = false
              known.size = Option.match(info, { onNone: () => known.size, onSome: ({ size }) => Number(size) })
            })
          )
        )
        synced = true
      })
      // Closing fails as a defect; what was synced is safe all the same.
    ).pipe(Effect.catchDefect((defect) => (synced ? Effect.void : Effect.die(defect))))
    known.size += bytes.length
    known.whole = true
  })

  const append = Effect.fn("ThreadFile.append")(function* (entries: ReadonlyArray<EntryText>) {
    const known = yield* current()
    const fresh = new Map<string, string>()
    for (const { id, text } of entries) if (!known.ids.has(id) && !fresh.has(id)) fresh.set(id, text)
    if (fresh.size > 0) {
      let lines = ""
      for (const text of fresh.values()) lines += `${text}\n`
      yield* write(known, lines)
      for (const id of fresh.keys()) known.ids.add(id)
    }
    return { accepted: fresh.size, repeated: entries.length - fresh.size }
  })

  return { append: (entries) => oneAtATime.withPermits(1)(Effect.uninterruptible(append(entries))) }
})

/** The id in a line. Thread entries of type `session` read as headers, so lines that are no entries are parsed. */
const idOf = (line: SessionLine): string | undefined => {
  if (line instanceof SessionEntry) return typeof line.idValue === "string" ? line.idValue : undefined
  const value = valueOf(line)
  return value !== undefined && isObject(value) ? stringAt(value, "id") : undefined
}
