/** Facts about files, and the operations of a survey of many files. */
import type * as Effect from "effect/Effect"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"

/** Facts from `stat`. Links are followed. */
export interface FileFacts {
  readonly type: "File" | "Directory" | "Other"
  readonly sizeBytes: number
  /** Unix time in whole milliseconds. */
  readonly modifiedMs: number
  /** Equal for two paths of one file. Files of different devices may share one. Undefined if the system has none. */
  readonly inode: number | undefined
}

/** Facts about a file, and the result of reading its first bytes; undefined for anything but a regular file. */
export interface FileHead<A> extends FileFacts {
  readonly head: A | undefined
}

/**
 * Reads the first bytes of a file. Returns undefined to ask for more bytes; if there are none, that is the result. The
 * buffer is reused after the call.
 */
export type HeadReader<A> = (bytes: Uint8Array, isWhole: boolean) => A | undefined

/** Operations on many paths. Results are in the order of the paths; a failure is the result of its path. */
export interface Survey {
  /** The names in each directory, unordered. */
  readonly names: (
    directories: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string> | SessionFileError>>
  readonly facts: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<FileFacts | SessionFileError>>
  /** Opens each file and reads at most its first MiB. */
  readonly heads: <A>(
    paths: ReadonlyArray<string>,
    read: HeadReader<A>
  ) => Effect.Effect<ReadonlyArray<FileHead<A> | SessionFileError>>
  /** Each path with its links resolved. */
  readonly realPaths: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string | SessionFileError>>
}
