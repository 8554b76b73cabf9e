/** Counts the files that are done, and reports it. */
import * as Effect from "effect/Effect"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { type ExtractOptions } from "./ExtractOptions.ts"

export interface ProgressCount {
  /** Size of all files. */
  readonly bytes: number
  /** Reports that a file is done. A file counts once. */
  readonly done: (path: string) => Effect.Effect<void>
  /** Reports that all files are done. */
  readonly all: Effect.Effect<void>
}

export const make = (
  { onProgress = () => Effect.void }: Pick<ExtractOptions, "onProgress">,
  sessions: ReadonlyArray<SessionRef>
): ProgressCount => {
  const pending = new Map(sessions.map(({ path, sizeBytes }) => [path, sizeBytes]))
  const totalBytes = sessions.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0)
  const total = sessions.length
  let doneBytes = 0
  return {
    bytes: totalBytes,
    done: (path) =>
      Effect.suspend(() => {
        const size = pending.get(path)
        if (size === undefined) return Effect.void
        pending.delete(path)
        doneBytes += size
        return onProgress({ done: total - pending.size, total, doneBytes, totalBytes })
      }),
    all: Effect.suspend(() => onProgress({ done: total, total, doneBytes: totalBytes, totalBytes }))
  }
}
