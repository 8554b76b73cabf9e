/**
 * The mirror's files, in a directory for each sink: the state of every session file, and entries that wait to be sent.
 * After the loss of a state the thread is read again.
 *
 * Files are replaced by a rename and not synced, because after a power loss an old or missing state is harmless. Each
 * waiting entry is a file of its own, so that several Pis can share the directory.
 */
import * as process from "node:process"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { type JsonObject, isObject, stringAt } from "@pi-sessions/core/Json"
import { FollowState } from "./FollowState.ts"
import { sha256 } from "../internal/sha256.ts"
import { parseJson } from "../internal/parseJson.ts"

/** A session file and how far it has been mirrored. */
export const MirrorRecord = Schema.Struct({
  state: FollowState,
  /** Whether `state` is where the thread ends. When false, the thread is read first. */
  placed: Schema.Boolean,
  /** Hash of the last request context. */
  contextSha256: Schema.optionalKey(Schema.String)
})
export type MirrorRecord = typeof MirrorRecord.Type

/** An entry that waits on disk. */
export interface Waiting {
  readonly path: string
  readonly threadId: string
  readonly entry: JsonObject
}

export interface MirrorStore {
  /** All readable records. */
  readonly records: Effect.Effect<ReadonlyArray<MirrorRecord>, PlatformError.PlatformError>
  readonly save: (record: MirrorRecord) => Effect.Effect<void, PlatformError.PlatformError>
  /** Stores an entry with a string `id` and `threadId`. */
  readonly keep: (entry: JsonObject) => Effect.Effect<void, PlatformError.PlatformError>
  /** The stored entries, oldest first. */
  readonly waiting: Effect.Effect<ReadonlyArray<Waiting>, PlatformError.PlatformError>
  readonly remove: (waiting: Waiting) => Effect.Effect<void, PlatformError.PlatformError>
}

const isRecord = Schema.is(MirrorRecord)

const digest = (text: string): string => sha256(text).slice(0, 32)

/** The store for `sink`, the name of a sink, in `directory`. The directory is made by the first write. */
export const make = Effect.fnUntraced(function* (
  directory: string,
  sink: string
): Effect.fn.Return<MirrorStore, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const records = path.join(directory, digest(sink))
  const spool = path.join(records, "spool")

  const replace = Effect.fnUntraced(function* (folder: string, name: string, value: object) {
    // The same name each time, so that kills do not fill the directory.
    const temporary = path.join(folder, `.${name}.${process.pid}.tmp`)
    const write = fs.writeFileString(temporary, JSON.stringify(value), { mode: 0o600 })
    yield* write.pipe(
      Effect.catchReason("PlatformError", "NotFound", () =>
        Effect.andThen(fs.makeDirectory(folder, { recursive: true, mode: 0o700 }), write)
      ),
      Effect.andThen(fs.rename(temporary, path.join(folder, name))),
      Effect.onError(() => Effect.ignore(fs.remove(temporary, { force: true })))
    )
  })

  /** The JSON files of a folder, by name. The value of a damaged file is undefined. */
  const read = Effect.fnUntraced(function* (folder: string) {
    const names = yield* fs
      .readDirectory(folder)
      .pipe(Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed([])))
    return yield* Effect.forEach(
      names.filter((name) => name.endsWith(".json")).toSorted(),
      (name) =>
        Effect.map(Effect.option(fs.readFileString(path.join(folder, name))), (text) => ({
          path: path.join(folder, name),
          value: text._tag === "Some" ? parseJson(text.value) : undefined
        })),
      { concurrency: 8 }
    )
  })

  return {
    records: Effect.map(read(records), (files) => files.flatMap(({ value }) => (isRecord(value) ? [value] : []))),
    save: (record) =>
      replace(records, `${digest(JSON.stringify([record.state.file, record.state.threadId]))}.json`, record),
    keep: (entry) =>
      replace(
        spool,
        `${stringAt(entry, "createdAt")?.replaceAll(/[:.]/g, "-")}-${digest(stringAt(entry, "id") ?? "")}.json`,
        entry
      ),
    waiting: Effect.map(read(spool), (files) =>
      files.flatMap(({ path, value }) => {
        const threadId = isObject(value) ? stringAt(value, "threadId") : undefined
        return isObject(value) && threadId !== undefined ? [{ path, threadId, entry: value }] : []
      })
    ),
    remove: ({ path }) => fs.remove(path, { force: true })
  }
})
