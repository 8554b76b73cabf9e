/**
 * Reads what Pi has appended to a session file, as thread entries. Losing the `FollowState` is harmless: the same lines
 * give the same entries with the same ids.
 *
 * Only whole lines count. Each read first checks the header and the last mirrored line. When they changed, or the file
 * is shorter, Pi has rewritten the file, and a new generation begins.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { type Lineage } from "../hydrate/LosslessHydration.ts"
import { sha256 } from "../internal/sha256.ts"
import * as FileLines from "./FileLines.ts"
import { type FollowState, advance, initial } from "./FollowState.ts"
import * as LineEntries from "./LineEntries.ts"
import { ProjectionIndex, entryOf } from "./MirrorProjection.ts"

/** The result of one read. */
export type Step =
  | { readonly _tag: "Nothing" }
  /** The file is not the one that was mirrored; mirror it again as a new generation. */
  | { readonly _tag: "Rewritten" }
  | {
      readonly _tag: "Batch"
      readonly entries: ReadonlyArray<JsonObject>
      /** The state once the thread has acknowledged `entries`. */
      readonly state: FollowState
    }

export interface FollowLimits {
  /** Bytes to read at once; a longer line is read alone. Default: 512 KiB. */
  readonly maxBytes?: number | undefined
  /** Lines to read at once. Default: 250. */
  readonly maxLines?: number | undefined
}

export interface SessionFollower {
  /** The lines after `state`. Has no effect: a second call gives the same lines, and what was appended since. */
  readonly next: (state: FollowState, limits?: FollowLimits) => Effect.Effect<Step, PlatformError.PlatformError>
  /**
   * The state to continue from when the thread holds `lineage`: after the lines that file and thread share. Where they
   * differ, or the file is shorter, the start of the next generation.
   */
  readonly adopt: (state: FollowState, lineage: Lineage) => Effect.Effect<FollowState, PlatformError.PlatformError>
}

const READ_BYTES = 512 * 1024
const NOTHING: Step = { _tag: "Nothing" }

/** A follower of the file at `path`. The file may be missing. */
export const make = (path: string): Effect.Effect<SessionFollower, never, FileSystem.FileSystem> =>
  Effect.map(FileSystem.FileSystem, (fs) => {
    const index = new ProjectionIndex()
    return {
      next: Effect.fn("SessionFollower.next")((state, limits = {}) =>
        Effect.map(
          withFile(fs, path, (file, size) => readBatch(file, size, state, limits, index)),
          Option.getOrElse(() => NOTHING)
        )
      ),
      adopt: Effect.fn("SessionFollower.adopt")((state, lineage) =>
        Effect.map(
          withFile(fs, path, (file, size) => sharedState(file, size, state, lineage)),
          Option.getOrElse(() => initial(state, lineage.generation))
        )
      )
    }
  })

/** Runs `use` with the open file and its size in bytes; none when there is no file. */
const withFile = <A>(
  fs: FileSystem.FileSystem,
  path: string,
  use: (file: FileSystem.File, size: number) => Effect.Effect<A, PlatformError.PlatformError>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* fs.open(path, { flag: "r" })
      const { size } = yield* file.stat
      return Option.some(yield* use(file, Number(size)))
    })
  ).pipe(Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone))

const readBatch = Effect.fnUntraced(function* (
  file: FileSystem.File,
  size: number,
  state: FollowState,
  limits: FollowLimits,
  index: ProjectionIndex
): Effect.fn.Return<Step, PlatformError.PlatformError> {
  // Pi rewrites a file by truncating it first, so it is empty for a moment.
  if (size === 0) return NOTHING
  if (!(yield* isContinued(file, size, state))) {
    index.clear()
    return { _tag: "Rewritten" }
  }
  if (size === state.byteOffset) return NOTHING
  const bytes = yield* FileLines.readLines(file, state.byteOffset, size, limits.maxBytes ?? READ_BYTES)
  if (bytes.length === 0) return NOTHING
  const taken = LineEntries.take(bytes, state, limits.maxLines ?? 250)
  const hasCompaction = taken.lines.some(({ projected }) => projected?.type === "pi.compaction")
  if (hasCompaction) yield* indexUpTo(file, taken.state.byteOffset, index)
  const entries = taken.lines.flatMap((line) => LineEntries.threadEntries(line, state.threadId, index))
  return { _tag: "Batch", entries, state: taken.state }
})

/** Whether the header and the last mirrored line are unchanged. */
const isContinued = Effect.fnUntraced(function* (file: FileSystem.File, size: number, state: FollowState) {
  if (state.seq < 0) return true
  if (size < state.byteOffset) return false
  const header = yield* FileLines.readAt(file, 0, state.headerBytes + 1)
  if (!isLine(header, state.headerSha256)) return false
  const { lastLineOffset, byteOffset } = state
  return isLine(yield* FileLines.readAt(file, lastLineOffset, byteOffset - lastLineOffset), state.lastSha256)
})

const isLine = (bytes: Buffer, expected: string): boolean =>
  bytes.at(-1) === FileLines.NEWLINE && sha256(bytes.subarray(0, -1)) === expected

/** Indexes the file up to offset `end`. Yields between pieces, because Pi shares the thread. */
const indexUpTo = Effect.fnUntraced(function* (file: FileSystem.File, end: number, index: ProjectionIndex) {
  while (index.upTo < end) {
    const bytes = yield* FileLines.readLines(file, index.upTo, end, READ_BYTES)
    if (bytes.length === 0) return
    for (const line of FileLines.split(bytes)) {
      const entry = entryOf(line.toString("utf8"))
      if (entry !== undefined) index.add(entry)
    }
    index.upTo += bytes.length
    yield* Effect.yieldNow
  }
})

/** Compares the file with `lineage`, line by line; see `adopt`. */
const sharedState = Effect.fnUntraced(function* (
  file: FileSystem.File,
  size: number,
  state: FollowState,
  lineage: Lineage
): Effect.fn.Return<FollowState, PlatformError.PlatformError> {
  const nextGeneration = initial(state, lineage.generation + 1)
  let at = initial(state, lineage.generation)
  /** After the last line before which the thread has no gap. */
  let held = at
  let hasGap = false
  let last = lineage.header === undefined ? -1 : 0
  for (const seq of lineage.lines.keys()) last = Math.max(last, seq)
  while (at.seq < last) {
    const bytes = yield* FileLines.readLines(file, at.byteOffset, size, READ_BYTES)
    if (bytes.length === 0) return nextGeneration
    for (const line of FileLines.split(bytes)) {
      at = advance(at, line)
      const known = at.seq === 0 ? lineage.header : lineage.lines.get(at.seq)
      if (known === undefined) hasGap = true
      else if (known.sha256 !== at.lastSha256 && !(at.seq === 0 && differsInCwdOnly(known, line))) return nextGeneration
      if (!hasGap) held = at
      if (at.seq >= last) break
    }
    yield* Effect.yieldNow
  }
  return held
})

/** Hydration may have changed the header's cwd; the session is the same. */
const differsInCwdOnly = (known: { readonly line?: string }, line: Buffer): boolean => {
  const mirrored = known.line === undefined ? undefined : entryOf(known.line)
  const own = entryOf(line.toString("utf8"))
  if (mirrored === undefined || own === undefined) return false
  return ValueText.stringify({ ...mirrored, cwd: "" }) === ValueText.stringify({ ...own, cwd: "" })
}
