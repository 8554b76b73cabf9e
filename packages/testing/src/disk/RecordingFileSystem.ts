/** A FileSystem that records the paths of every call. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"

/** A call: a member of `FileSystem` and one of the paths that it was given. */
export interface Recorded {
  readonly member: string
  readonly path: string
}

export interface RecordingFileSystem {
  readonly fileSystem: FileSystem.FileSystem
  /** Every call so far; the array grows. */
  readonly calls: ReadonlyArray<Recorded>
}

/** Wraps the FileSystem of the context. */
export const make: Effect.Effect<RecordingFileSystem, never, FileSystem.FileSystem> = Effect.map(
  FileSystem.FileSystem,
  (fs) => {
    const calls: Array<Recorded> = []
    const fileSystem = new Proxy(fs, {
      get: (target, key): unknown => {
        const member: unknown = Reflect.get(target, key)
        if (typeof member !== "function") return member
        return (...args: ReadonlyArray<unknown>): unknown => {
          for (const path of args) if (typeof path === "string") calls.push({ member: String(key), path })
          return Reflect.apply(member, target, args)
        }
      }
    })
    return { fileSystem, calls }
  }
)
