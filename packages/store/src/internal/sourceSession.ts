/** A session that is to be migrated: whether it is sound, and its lines on their way into frames. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { stringAt } from "@pi-sessions/core/Json"
import { type Code } from "@pi-sessions/core/SessionDiagnostic"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type FrameInput, isShort } from "../SegmentFrame.ts"
import { isSafeId } from "../StoreLayout.ts"
import { type Snapshot } from "../WireField.ts"
import { detached } from "./detached.ts"
import { snapshotter } from "./foreignStore.ts"

/** Why a session is not migrated, and where. */
export interface SourceFinding {
  /** From 1. */
  readonly line: number
  readonly byteOffset: number
  readonly message: string
}

/** What a session holds that is to be migrated. */
export interface Inspected {
  /** Empty when there is no header. */
  readonly sessionId: string
  /** Without the header. */
  readonly entryCount: number
  readonly snapshot: Snapshot
  readonly findings: ReadonlyArray<SourceFinding>
}

/** Noticed by the reader, and no damage: the bytes are kept as they are. */
const HARMLESS: ReadonlySet<Code> = new Set(["crlf", "invalid-utf8", "missing-final-newline"])

/** Reads a whole session without keeping it. */
export const inspect = Effect.fnUntraced(function* <E, R>(
  name: string,
  format: Snapshot["format"],
  bytes: Stream.Stream<Uint8Array, E, R>
): Effect.fn.Return<Inspected, E, R> {
  const reader = new SessionReader()
  const snapshot = snapshotter(format, name)
  const findings: Array<SourceFinding> = []
  const ids = new Set<string>()
  /** Parents that no entry before had; some are further down. */
  const unknown: Array<{ readonly entry: SessionEntry; readonly parentId: string }> = []
  let entryCount = 0
  let sessionId: string | undefined
  const take = (lines: ReadonlyArray<SessionLine>): void => {
    for (const line of lines) {
      if (!(line instanceof SessionEntry)) continue
      entryCount++
      const { id, parentId } = line
      if (id === null) continue
      if (id === "") findings.push(at(line, "empty-id: the entry's id is empty"))
      if (!isShort(id, parentId, line.type)) {
        findings.push(at(line, "too-long: its id, its parent's and its type are longer than 60 KiB together"))
        continue
      }
      sessionId ??= stringAt(reader.header?.decode() ?? {}, "id")
      if (id === sessionId) findings.push(at(line, `duplicate-id: ${id} is the id of the session`))
      if (parentId !== null && !ids.has(parentId)) unknown.push({ entry: line.standalone(), parentId })
      if (ids.has(id)) findings.push(at(line, `duplicate-id: another entry has the id ${id} already`))
      ids.add(detached(id))
    }
  }
  yield* Stream.runForEach(bytes, (chunk) =>
    Effect.sync(() => {
      snapshot.push(chunk)
      take(reader.push(chunk))
    })
  )
  take(reader.end())
  for (const { entry, parentId } of unknown) {
    const what = ids.has(parentId)
      ? `cycle or order: its parent ${parentId} comes after it`
      : `unknown-parent: there is no entry ${parentId}`
    findings.push(at(entry, what))
  }
  for (const diagnostic of reader.diagnostics) {
    if (!HARMLESS.has(diagnostic.code)) findings.push(at(diagnostic, `${diagnostic.code}: ${diagnostic.message}`))
  }
  const header = reader.header?.decode()
  if (reader.header !== undefined && header !== undefined && versionOf(header) !== 3) {
    const message = `the session has format version ${versionOf(header)}; open it once in Pi, which brings it to version 3`
    findings.push(at(reader.header, message))
  }
  sessionId = stringAt(header ?? {}, "id") ?? ""
  if (reader.header !== undefined && !isSafeId(sessionId)) {
    findings.push(at(reader.header, `the session id ${JSON.stringify(sessionId)} cannot be part of a file name`))
  }
  findings.sort((a, b) => a.byteOffset - b.byteOffset)
  return { sessionId, entryCount, snapshot: snapshot.end(), findings }
})

const at = (where: { readonly line: number; readonly byteOffset: number }, message: string): SourceFinding => ({
  line: where.line,
  byteOffset: where.byteOffset,
  message
})

/** Lines of a session file as frames: a blank line goes with the entry after it, or with the last one. */
export class FrameAssembler {
  readonly #reader = new SessionReader()
  readonly #blank: Array<Uint8Array> = []
  /** Held back, for blank lines may follow it to the end of the file. */
  #last: (FrameInput & { readonly terminated: boolean }) | undefined

  /** The frames that became complete. */
  push(chunk: Uint8Array): ReadonlyArray<FrameInput> {
    return this.#take(this.#reader.push(chunk))
  }

  /** The last ones. */
  end(): ReadonlyArray<FrameInput> {
    const frames = [...this.#take(this.#reader.end())]
    const last = this.#last
    if (last === undefined) return frames
    const bytes = Buffer.concat([last.payload, ...(last.terminated ? [NEWLINE] : []), ...this.#blank])
    const terminated = bytes.at(-1) === 0x0a
    frames.push({
      entryId: last.entryId,
      parentId: last.parentId,
      entryType: last.entryType,
      payload: terminated ? bytes.subarray(0, -1) : bytes,
      ...(terminated ? {} : { unterminated: true })
    })
    return frames
  }

  #take(lines: ReadonlyArray<SessionLine>): ReadonlyArray<FrameInput> {
    const frames: Array<FrameInput> = []
    for (const line of lines) {
      const own = line instanceof HeaderLine || line instanceof SessionEntry
      if (!own) {
        this.#blank.push(line.terminated ? Buffer.concat([line.bytes, NEWLINE]) : line.bytes)
        continue
      }
      if (this.#last !== undefined) {
        const { entryId, parentId, entryType, payload } = this.#last
        frames.push({ entryId, parentId, entryType, payload })
      }
      const payload = this.#blank.length === 0 ? line.bytes : Buffer.concat([...this.#blank, line.bytes])
      this.#blank.length = 0
      const terminated = line.terminated
      this.#last =
        line instanceof HeaderLine
          ? { entryId: stringAt(line.decode(), "id") ?? "", parentId: null, entryType: "session", payload, terminated }
          : { entryId: line.id ?? "", parentId: line.parentId, entryType: line.type, payload, terminated }
    }
    return frames
  }
}

const NEWLINE = Buffer.from("\n")
