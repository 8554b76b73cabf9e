/** What is known of files, and the questions that a survey of many files answers. */
import type * as Effect from "effect/Effect"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"

/** Facts of a file that need not be opened. Links are followed. */
export interface FileFacts {
  readonly type: "File" | "Directory" | "Other"
  readonly sizeBytes: number
  /** Unix time in whole milliseconds. */
  readonly modifiedMs: number
  /** Two paths of one file have the same; two files may have the same by chance. Undefined where the system has none. */
  readonly inode: number | undefined
}

/** Facts of a file, and what a look at its first bytes made of them; undefined unless it is a regular file. */
export interface FileHead<A> extends FileFacts {
  readonly head: A | undefined
}

/**
 * Reads what it needs from the first bytes of a file. `undefined` asks for more of them and is the result where there
 * are no more. The bytes are those of a buffer that is used again: keep none.
 */
export type HeadReader<A> = (bytes: Uint8Array, isWhole: boolean) => A | undefined

/** Questions about many files at a time. */
export interface Survey {
  /** The names in each directory, in no order. */
  readonly names: (
    directories: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string> | SessionFileError>>
  readonly facts: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<FileFacts | SessionFileError>>
  /** Opens each file; no more than its first MiB is read. */
  readonly heads: <A>(
    paths: ReadonlyArray<string>,
    read: HeadReader<A>
  ) => Effect.Effect<ReadonlyArray<FileHead<A> | SessionFileError>>
  /** Each path without links in it. */
  readonly realPaths: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string | SessionFileError>>
}
