/**
 * An append-only file whose writer knows how much of it is durable. Bytes of a failed write are cut off before the next
 * write, so that two records never fuse. After a failed fsync, nothing written since the last good one counts as durable,
 * even if a later fsync succeeds. Once the file's name leads to another file, neither file is written: recovery decides.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import { StoreIoError, fromPlatform } from "../StoreError.ts"
import { type OpenFile, openFile, sync, syncName, writeFully } from "./durable.ts"
import * as FileIdentity from "./fileIdentity.ts"

export class AppendLog {
  readonly path: string
  readonly #directory: string
  #opened: OpenFile | undefined
  #durable: number
  #written: number
  /** The file may hold more than `#written` bytes. */
  #trailing = false
  /** An fsync of this handle failed: unsynced pages may be lost although they can be read. */
  #distrusted = false
  /** The file's name may not be durable. */
  #unnamed: boolean
  /** Identity of the open file, or of the last one. */
  #identity: FileIdentity.FileIdentity | undefined
  /** Set once the name leads to another file or to none. */
  #lost: StoreIoError | undefined

  /** `length` bytes of the file are durable. With `created` the file is a new one. */
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

  /** Whether the file lost its name; every further write fails. */
  get isLost(): boolean {
    return this.#lost !== undefined
  }

  /** Discards what was written since the last successful `commit`. */
  rewind(): void {
    if (this.#written !== this.#durable) this.#trailing = true
    this.#written = this.#durable
  }

  /** Appends bytes. A failed write counts as not written. */
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

  /** Makes all written bytes durable. After a failure, bytes since the last success must be written again. */
  readonly commit = Effect.fnUntraced({ self: this }, function* (this: AppendLog): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const { file } = yield* this.#ready()
    yield* sync(file, this.path).pipe(
      Effect.andThen(this.#unnamed ? syncName(this.#directory, this.path) : Effect.void),
      Effect.andThen(this.#stillNamed()),
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
   * Cuts off what a failure left, if the disk allows it, because the next reader would take it for durable. Otherwise the
   * next write does it.
   */
  readonly tidy = Effect.suspend(() =>
    this.#trailing || this.#distrusted ? Effect.ignore(this.#prepare()) : Effect.void
  )

  /** Tidies and closes the file. It is opened again when needed. */
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
    if (this.#lost !== undefined) return yield* this.#lost
    const opened = this.#opened === undefined || this.#distrusted ? yield* this.#open() : this.#opened
    if (this.#trailing || this.#distrusted) {
      yield* opened.file.truncate(this.#written).pipe(Effect.mapError(fromPlatform(this.path, "write")))
      if (this.#distrusted) yield* sync(opened.file, this.path)
      this.#distrusted = false
      this.#trailing = false
    }
    return opened
  })

  /** Opens the file again after a failed fsync, or for the first time. It must be the same file. */
  readonly #open = Effect.fnUntraced({ self: this }, function* (this: AppendLog): Effect.fn.Return<
    OpenFile,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const fs = yield* FileSystem.FileSystem
    // A file whose name could not be synced is created again: the failed sync may have dropped the name.
    if (this.#distrusted && this.#unnamed) {
      if (this.#opened !== undefined) yield* this.#stillNamed()
      yield* Effect.ignore(this.#closeFile())
      yield* fs.remove(this.path, { force: true }).pipe(Effect.mapError(fromPlatform(this.path, "write")))
      this.#identity = undefined
    }
    const opened = yield* openFile(this.path, this.#unnamed ? "w" : "r+")
    const checked = yield* Effect.result(
      Effect.gen({ self: this }, function* () {
        const info = yield* FileIdentity.ofFile(opened.file, this.path)
        const isSame = this.#identity === undefined || FileIdentity.isSame(this.#identity, info)
        if (!isSame || Number(info.size) < this.#durable) return yield* this.#lose(REPLACED)
        return info
      })
    )
    if (Result.isFailure(checked)) {
      yield* Effect.ignore(opened.close)
      return yield* checked.failure
    }
    // Closed only now: while a file is open, no other file can have its identity.
    yield* Effect.ignore(this.#closeFile())
    const { dev, ino } = checked.success
    this.#identity = { dev, ino }
    this.#opened = opened
    return opened
  })

  /** Fails when the file lost its name: it would still accept writes that no reader finds. */
  readonly #stillNamed = Effect.fnUntraced({ self: this }, function* (this: AppendLog): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const now = yield* FileIdentity.at(this.path)
    if (Option.isNone(now)) return yield* this.#lose("the file was removed while it was written to")
    if (this.#identity === undefined || FileIdentity.isSame(this.#identity, now.value)) return
    return yield* this.#lose(REPLACED)
  })

  #lose(what: string): StoreIoError {
    const reason = `${what}; nothing was acknowledged. Close this writer and open the store again`
    this.#lost = new StoreIoError({ path: this.path, operation: "write", reason })
    return this.#lost
  }
}

const REPLACED = "another file was put in its place while it was written to"
