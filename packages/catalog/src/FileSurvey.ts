/**
 * Looking at many files: names, sizes and times, first bytes. Ten thousand sessions are asked for in one call, since an
 * Effect for each of them would cost more than the system does.
 *
 * `layer` goes through Effect's FileSystem, so it works wherever that does. `layerNode` makes Node's own synchronous
 * calls in batches and lets others run between them: several times as fast. A file that is a directory, a pipe or a
 * device is told by its type and not read; opening a pipe does not wait for its writer.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import * as nodeSurvey from "./internal/nodeSurvey.ts"
import * as portableSurvey from "./internal/portableSurvey.ts"

/** What the system says of a file without opening it. Links are followed. */
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

export class FileSurvey extends Context.Service<
  FileSurvey,
  {
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
>()("@pi-sessions/catalog/FileSurvey") {
  static readonly layer = Layer.effect(FileSurvey, portableSurvey.make)
  static readonly layerNode = Layer.succeed(FileSurvey, nodeSurvey.survey)
}
