/**
 * Follows a session file: what Pi has appended since the last time, as thread entries. The file is the truth, and all
 * that is known of it between two looks is a `FollowState`, which is small and can be kept on disk. Whoever loses it
 * reads the file again and makes the same entries with the same ids.
 *
 * Only whole lines count. Before it goes on, the header and the last line that was taken are compared with what they
 * were: when they changed or the file is shorter, Pi has rewritten it, and a new generation begins.
 */
import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { type Lineage } from "../hydrate/LosslessHydration.ts"
import { ProjectionIndex, entryOf, project, projectionId } from "./MirrorProjection.ts"

/** How far a session file has been mirrored. */
export const FollowState = Schema.Struct({
  file: Schema.String,
  threadId: Schema.String,
  sessionId: Schema.String,
  generation: Schema.Int,
  /** Lines after the header that were taken; -1 before the header. */
  seq: Schema.Int,
  /** Where the next line begins. */
  byteOffset: Schema.Int,
  lastLineOffset: Schema.Int,
  lastSha256: Schema.String,
  /** Length of the header line, newline excluded. */
  headerBytes: Schema.Int,
  headerSha256: Schema.String
})
export type FollowState = typeof FollowState.Type

/** What a look at the file brought. */
export type Step =
  /** Nothing new. */
  | { readonly _tag: "Nothing" }
  /** The file is not the one that was mirrored: begin again, in a new generation. */
  | { readonly _tag: "Rewritten" }
  | {
      readonly _tag: "Batch"
      readonly entries: ReadonlyArray<JsonObject>
      /** The state once `entries` are safe. */
      readonly state: FollowState
    }

export interface FollowLimits {
  /** Bytes of the file to take at once; a longer line comes alone. 512 KiB by default. */
  readonly maxBytes?: number | undefined
  /** Lines to take at once; 250 by default. */
  readonly maxLines?: number | undefined
}

export interface SessionFollower {
  /** Takes the next lines after `state`. Changes nothing: asked again it answers the same, plus what was appended. */
  readonly next: (state: FollowState, limits?: FollowLimits) => Effect.Effect<Step, PlatformError.PlatformError>
  /**
   * Where to go on when the thread holds `lineage` already: behind the lines that the file has in common with it, or
   * in the generation after it when the file went another way or is behind.
   */
  readonly adopt: (state: FollowState, lineage: Lineage) => Effect.Effect<FollowState, PlatformError.PlatformError>
}

/** The state of a file of which nothing was mirrored. */
export const initial = (
  session: { readonly file: string; readonly threadId: string; readonly sessionId: string },
  generation = 0
): FollowState => ({
  file: session.file,
  threadId: session.threadId,
  sessionId: session.sessionId,
  generation,
  seq: -1,
  byteOffset: 0,
  lastLineOffset: 0,
  lastSha256: "",
  headerBytes: 0,
  headerSha256: ""
})

/** The id of a raw entry; `seq` 0 is the header. */
export const rawId = (state: FollowState, seq: number): string =>
  `${state.threadId}:pi:raw:${state.sessionId}:${state.generation}:${seq}`

const READ_BYTES = 512 * 1024
const NEWLINE = 0x0a

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** A follower of the file at `path`, which need not be there yet. */
export const make = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<SessionFollower, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  let index = new ProjectionIndex()

  /** Runs `use` with the open file and its size; undefined when there is no file. */
  const withFile = <A>(use: (file: FileSystem.File, size: number) => Effect.Effect<A, PlatformError.PlatformError>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(path, { flag: "r" })
        const { size } = yield* file.stat
        return Option.some(yield* use(file, Number(size)))
      })
    ).pipe(Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone))

  /** Whether what was mirrored last still stands where it stood. */
  const continues = Effect.fnUntraced(function* (file: FileSystem.File, size: number, state: FollowState) {
    if (state.seq < 0) return true
    if (size < state.byteOffset) return false
    const header = yield* readAt(file, 0, state.headerBytes + 1)
    if (header.at(-1) !== NEWLINE || sha256(header.subarray(0, -1)) !== state.headerSha256) return false
    const last = yield* readAt(file, state.lastLineOffset, state.byteOffset - state.lastLineOffset)
    return last.at(-1) === NEWLINE && sha256(last.subarray(0, -1)) === state.lastSha256
  })

  /** Indexes the file as far as `end`, in pieces, so that Pi is never held up for long. */
  const indexUpTo = Effect.fnUntraced(function* (file: FileSystem.File, end: number) {
    while (index.upTo < end) {
      const bytes = yield* readLines(file, index.upTo, end, READ_BYTES)
      if (bytes.length === 0) return
      for (const { line } of linesOf(bytes)) {
        const entry = entryOf(line.toString("utf8"))
        if (entry !== undefined) index.add(entry)
      }
      index.upTo += bytes.length
      yield* Effect.yieldNow
    }
  })

  const next = Effect.fn("SessionFollower.next")(function* (state: FollowState, limits: FollowLimits = {}) {
    const step = yield* withFile((file, size) =>
      Effect.gen(function* (): Effect.fn.Return<Step, PlatformError.PlatformError> {
        // A file that is being rewritten is empty for a moment.
        if (size === 0) return { _tag: "Nothing" }
        if (!(yield* continues(file, size, state))) {
          index = new ProjectionIndex()
          return { _tag: "Rewritten" }
        }
        if (size === state.byteOffset) return { _tag: "Nothing" }
        const bytes = yield* readLines(file, state.byteOffset, size, limits.maxBytes ?? READ_BYTES)
        if (bytes.length === 0) return { _tag: "Nothing" }
        const taken = take(bytes, state, limits.maxLines ?? 250)
        const compactions = taken.lines.filter(({ projected }) => projected?.type === "pi.compaction")
        if (compactions.length > 0) yield* indexUpTo(file, taken.state.byteOffset)
        const entries = taken.lines.flatMap(({ raw, entry, projected, createdAt }) => {
          if (projected === undefined || entry === undefined) return [raw]
          const kept = projected.type === "pi.compaction" ? index.keptFrom(entry) : undefined
          const keptFrom = kept === undefined ? {} : { keptFrom: projectionId(state.threadId, kept) }
          const projection: JsonObject = {
            id: projectionId(state.threadId, projected.n),
            threadId: state.threadId,
            type: projected.type,
            ...createdAt,
            payload: { ...projected.payload, ...keptFrom }
          }
          return [raw, projection]
        })
        return { _tag: "Batch", entries, state: taken.state }
      })
    )
    return Option.getOrElse(step, (): Step => ({ _tag: "Nothing" }))
  })

  const adopt = Effect.fn("SessionFollower.adopt")(function* (state: FollowState, lineage: Lineage) {
    const from = initial(state, lineage.generation)
    const adopted = yield* withFile((file, size) =>
      Effect.gen(function* (): Effect.fn.Return<FollowState, PlatformError.PlatformError> {
        let at = from
        /** Behind the last line that is known to be in the thread without a gap before it. */
        let held = from
        let whole = true
        let last = lineage.header === undefined ? -1 : 0
        for (const seq of lineage.lines.keys()) last = Math.max(last, seq)
        while (at.seq < last) {
          const bytes = yield* readLines(file, at.byteOffset, size, READ_BYTES)
          if (bytes.length === 0) return initial(state, lineage.generation + 1)
          for (const { line } of linesOf(bytes)) {
            at = after(at, line)
            const known = at.seq === 0 ? lineage.header : lineage.lines.get(at.seq)
            if (known === undefined) whole = false
            else if (known.sha256 !== at.lastSha256 && !(at.seq === 0 && sameButCwd(known, line))) {
              return initial(state, lineage.generation + 1)
            }
            if (whole) held = at
            if (at.seq >= last) break
          }
          yield* Effect.yieldNow
        }
        return held
      })
    )
    return Option.getOrElse(adopted, () => from)
  })

  return { next, adopt }
})

/** Hydration may have put another cwd into the header, which is no other session. */
const sameButCwd = (known: { readonly line?: string }, line: Buffer): boolean => {
  const mirrored = known.line === undefined ? undefined : entryOf(known.line)
  const own = entryOf(line.toString("utf8"))
  if (mirrored === undefined || own === undefined) return false
  return ValueText.stringify({ ...mirrored, cwd: "" }) === ValueText.stringify({ ...own, cwd: "" })
}

const readAt = (file: FileSystem.File, offset: number, length: number) =>
  Effect.gen(function* () {
    const parts: Array<Uint8Array> = []
    let read = 0
    while (read < length) {
      const part = yield* file.readAlloc(length - read, { position: BigInt(offset + read) })
      if (Option.isNone(part)) break
      parts.push(part.value)
      read += part.value.length
    }
    return Buffer.concat(parts, read)
  })

/** Whole lines from `offset` on, their newlines included: about `maxBytes`, or one line. Empty when there is none. */
const readLines = Effect.fnUntraced(function* (file: FileSystem.File, offset: number, end: number, maxBytes: number) {
  const parts: Array<Buffer> = []
  let at = offset
  while (at < end) {
    const part = yield* readAt(file, at, Math.min(Math.max(maxBytes, 1), end - at))
    if (part.length === 0) break
    at += part.length
    const newline = part.lastIndexOf(NEWLINE)
    parts.push(newline < 0 ? part : part.subarray(0, newline + 1))
    if (newline >= 0) return Buffer.concat(parts)
  }
  return Buffer.alloc(0)
})

/** The lines in `bytes`, which ends in a newline, without their newlines. */
function* linesOf(bytes: Buffer): Generator<{ readonly line: Buffer }> {
  let start = 0
  while (start < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline < 0 ? bytes.length : newline
    yield { line: bytes.subarray(start, end) }
    start = end + 1
  }
}

/** The state behind one more line. The session's id is what the header says. */
const after = (state: FollowState, line: Buffer): FollowState => {
  const digest = sha256(line)
  const next = {
    seq: state.seq + 1,
    byteOffset: state.byteOffset + line.length + 1,
    lastLineOffset: state.byteOffset,
    lastSha256: digest
  }
  if (state.seq >= 0) return { ...state, ...next }
  const header = entryOf(line.toString("utf8"))
  const id = header?.["type"] === "session" ? stringAt(header, "id") : undefined
  // Another session in the file's place begins its own generations.
  const own = id === undefined || id === state.sessionId ? {} : { sessionId: id, generation: 0 }
  return { ...state, ...own, ...next, headerBytes: line.length, headerSha256: digest }
}

interface TakenLine {
  readonly raw: JsonObject
  readonly entry: JsonObject | undefined
  readonly projected: ReturnType<typeof project>
  readonly createdAt: { readonly createdAt?: string }
}

const take = (bytes: Buffer, from: FollowState, maxLines: number) => {
  const lines: Array<TakenLine> = []
  let state = from
  for (const { line } of linesOf(bytes)) {
    if (lines.length >= maxLines) break
    state = after(state, line)
    const valid = isUtf8(line)
    const text = line.toString("utf8")
    const entry = entryOf(text)
    const timestamp = entry === undefined ? undefined : stringAt(entry, "timestamp")
    const createdAt = timestamp === undefined || Number.isNaN(Date.parse(timestamp)) ? {} : { createdAt: timestamp }
    const { sessionId, generation, seq, threadId, lastSha256 } = state
    const encoded = valid ? { line: text } : { lineBase64: line.toString("base64") }
    const payload: JsonObject =
      seq === 0
        ? // A header's payload always has a line.
          { sessionId, generation, line: text, ...encoded, sha256: lastSha256 }
        : {
            sessionId,
            generation,
            seq,
            entryId: (entry === undefined ? undefined : stringAt(entry, "id")) ?? null,
            ...encoded,
            sha256: lastSha256
          }
    lines.push({
      raw: {
        id: rawId(state, seq),
        threadId,
        type: seq === 0 ? "pi.session_header" : "pi.session_entry",
        ...createdAt,
        payload
      },
      entry,
      projected: entry === undefined || seq === 0 ? undefined : project(entry),
      createdAt
    })
  }
  return { lines, state }
}
