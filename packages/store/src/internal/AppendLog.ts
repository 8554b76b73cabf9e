/**
 * A file that only grows, through one writer that knows how much of it is durable. What a failed write left behind the
 * durable end is cut off before the next one, so that two records can never fuse; after a failed fsync nothing written
 * since the last good one is taken as durable, whatever a later fsync says.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import { StoreIoError, fromPlatform } from "../StoreError.ts"
import { type OpenFile, openFile, sync, syncDirectory, writeFully } from "./durable.ts"

export class AppendLog {
  readonly path: string
  readonly #directory: string
  #opened: OpenFile | undefined
  #durable: number
  #written: number
  /** The file may hold more than `#written` bytes. */
  #trailing = false
  /** The handle saw a failed fsync: its unsynced pages may be gone although they read well. */
  #distrusted = false
  /** The file's name may not be durable. */
  #unnamed: boolean

  /** `length` bytes of the file are durable; with `created` there is none, or none that counts. */
  constructor(path: Path.Path, file: string, length: number, created: boolean) {
    this.path = file
    this.#directory = path.dirname(file)
    this.#durable = length
    this.#written = length
    this.#unnamed = created
  }

  /** Bytes known to be on disk. */
  get durableLength(): number {
    return this.#durable
  }

  /** Bytes written, durable or not. */
  get length(): number {
    return this.#written
  }

  /** Forgets what was written since the last successful `commit`. */
  rewind(): void {
    if (this.#written !== this.#durable) this.#trailing = true
    this.#written = this.#durable
  }

  /** Writes after what was written before. When it fails, nothing of it is taken as written. */
  readonly write = Effect.fnUntraced({ self: this }, function* (this: AppendLog, bytes: Uint8Array): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const { file } = yield* this.#ready()
    yield* file.seek(BigInt(this.#written), "start").pipe(Effect.mapError(fromPlatform(this.path, "write")))
    this.#trailing = true
    yield* writeFully(file, this.path, bytes)
    this.#trailing = false
    this.#written += bytes.length
  })

  /** Makes all that was written durable. When it fails, what was written since the last success must be written again. */
  readonly commit = Effect.fnUntraced({ self: this }, function* (this: AppendLog): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const { file } = yield* this.#ready()
    yield* sync(file, this.path).pipe(
      Effect.andThen(this.#unnamed ? syncDirectory(this.#directory) : Effect.void),
      Effect.andThen(stillNamed(file, this.path)),
      Effect.tapCause(() =>
        Effect.sync(() => {
          this.#distrusted = true
          this.rewind()
        })
      )
    )
    this.#unnamed = false
    this.#durable = this.#written
  })

  /**
   * Takes out what a failure left, if the disk lets it: who reads the file next could not know that it was refused, nor
   * that it may never become durable. Without success the next write does it.
   */
  readonly tidy = Effect.suspend(() =>
    this.#trailing || this.#distrusted ? Effect.ignore(this.#prepare()) : Effect.void
  )

  /** Closes the file, tidied; it is opened again when needed. */
  readonly close = Effect.suspend(() =>
    Effect.andThen(
      this.tidy,
      Effect.suspend(() => this.#closeFile())
    )
  )

  #closeFile(): Effect.Effect<void, StoreIoError> {
    const opened = this.#opened
    this.#opened = undefined
    return opened === undefined ? Effect.void : opened.close
  }

  #ready(): Effect.Effect<OpenFile, StoreIoError, FileSystem.FileSystem> {
    return this.#opened !== undefined && !this.#trailing && !this.#distrusted
      ? Effect.succeed(this.#opened)
      : this.#prepare()
  }

  readonly #prepare = Effect.fnUntraced({ self: this }, function* (this: AppendLog): Effect.fn.Return<
    OpenFile,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const fs = yield* FileSystem.FileSystem
    if (this.#distrusted) yield* Effect.ignore(this.#closeFile())
    // A name whose directory could not be synced is made anew: the failed sync may have forgotten it.
    if (this.#distrusted && this.#unnamed) yield* Effect.ignore(fs.remove(this.path))
    const opened = this.#opened ?? (yield* openFile(this.path, this.#unnamed ? "w" : "r+"))
    this.#opened = opened
    if (this.#trailing || this.#distrusted) {
      yield* opened.file.truncate(this.#written).pipe(Effect.mapError(fromPlatform(this.path, "write")))
      if (this.#distrusted) yield* sync(opened.file, this.path)
      this.#distrusted = false
      this.#trailing = false
    }
    return opened
  })
}

/** A file that somebody removed takes bytes and syncs them as before, and nobody ever reads them. */
const stillNamed = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string
): Effect.fn.Return<void, StoreIoError> {
  const { nlink } = yield* file.stat.pipe(Effect.mapError(fromPlatform(path, "sync")))
  if (Option.getOrElse(nlink, () => 1) > 0) return
  return yield* new StoreIoError({ path, operation: "write", reason: "the file was removed while it was written to" })
})
