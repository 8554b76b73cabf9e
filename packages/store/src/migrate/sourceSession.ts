/** Inspects a session before its migration: its contents, and whether a container can hold it. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry, type SessionLine, ValueLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { isShort } from "../wire/SegmentFrame.ts"
import { isSafeId } from "../StoreLayout.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { type FrameException, type FrameExceptions, sessionIdOf, wholeLines } from "./FrameAssembler.ts"
import { detached } from "../wire/detached.ts"
import { snapshotter } from "./foreignStore.ts"

/** A reason not to migrate a session, with its position. */
export interface SourceFinding {
  /** From 1. */
  readonly line: number
  readonly byteOffset: number
  readonly message: string
}

/** Contents of a session to migrate. */
export interface Inspected {
  /** Empty when there is no header. */
  readonly sessionId: string
  /** Without the header. */
  readonly entryCount: number
  readonly snapshot: Snapshot
  /** Reasons to refuse the session; empty when it can be migrated. */
  readonly findings: ReadonlyArray<SourceFinding>
  readonly exceptions: FrameExceptions
}

/** Reads a whole session without keeping it in memory. */
export const inspect = Effect.fnUntraced(function* <E, R>(
  name: string,
  format: Snapshot["format"],
  bytes: Stream.Stream<Uint8Array, E, R>
): Effect.fn.Return<Inspected, E, R> {
  const reader = new SessionReader()
  const snapshot = snapshotter(format, name)
  const links = new LinkCheck()
  const take = (lines: ReadonlyArray<SessionLine>): void => {
    for (const line of lines) if (isLoose(line)) links.linksInLines = true
    for (const { own } of wholeLines(lines, reader.header)) {
      if (own instanceof HeaderLine) links.header(sessionIdOf(own))
      else if (own !== undefined) links.entry(own)
    }
  }
  yield* Stream.runForEach(bytes, (chunk) =>
    Effect.sync(() => {
      snapshot.push(chunk)
      take(reader.push(chunk))
    })
  )
  take(reader.end())
  return {
    sessionId: reader.header === undefined ? "" : sessionIdOf(reader.header),
    entryCount: links.entryCount,
    snapshot: snapshot.end(),
    findings: findingsOf(reader),
    exceptions: links.end()
  }
})

const findingsOf = ({ diagnostics, header }: SessionReader): ReadonlyArray<SourceFinding> => {
  const wrong = diagnostics.find(({ code }) => code === "missing-header" || code === "header-not-first")
  const remedy = '"pi-sessions doctor --fix" writes a copy with a header, where one can be made'
  if (wrong !== undefined || header === undefined) {
    return wrong === undefined ? [] : [at(wrong, `${wrong.code}: ${wrong.message}; ${remedy}`)]
  }
  const version = versionOf(header.decode())
  const findings: Array<SourceFinding> = []
  if (version !== 3) {
    const what = version < 3 ? "open it once in Pi, which brings it to version 3" : "stores hold version 3 only"
    findings.push(at(header, `the session has format version ${version}; ${what}`))
  }
  const sessionId = sessionIdOf(header)
  if (!isSafeId(sessionId)) {
    const shown = JSON.stringify(sessionId.slice(0, SHOWN_ID))
    const what = '"pi-sessions fork" writes a session with another id'
    findings.push(at(header, `the session id ${shown} cannot be part of a file name; ${what}`))
  }
  return findings
}

const SHOWN_ID = 200

const at = (where: { readonly line: number; readonly byteOffset: number }, message: string): SourceFinding => ({
  line: where.line,
  byteOffset: where.byteOffset,
  message
})

/** Whether a line without a frame changes the tree: an entry on a damaged line, or a value that becomes the leaf. */
const isLoose = (line: SessionLine): boolean =>
  line instanceof ValueLine || (line instanceof SessionEntry && line.recovered)

/** Takes entries in file order and finds those whose frames need other ids or parents than their lines have. */
class LinkCheck {
  entryCount = 0
  linksInLines = false
  #sessionId: string | undefined
  readonly #ids = new Set<string>()
  readonly #byEntry = new Map<number, FrameException>()
  /** Parents that no earlier entry has. */
  readonly #missing = new Set<string>()

  header(sessionId: string): void {
    this.#sessionId = sessionId
  }

  entry({ id, parentId, type }: SessionEntry): void {
    const place = ++this.entryCount
    if (!isShort(id ?? "", parentId, type)) {
      this.linksInLines = true
      this.#byEntry.set(place, { entryId: "", parentId: null, entryType: "" })
      return
    }
    let exception: FrameException | undefined
    // Pi ignores a link to an empty id.
    if (parentId === "") exception = { parentId: null }
    else if (parentId !== null && !this.#ids.has(parentId)) {
      exception = { parentId: null, missingParentId: parentId }
      this.#missing.add(detached(parentId))
    }
    // The session's id belongs to the frame of the header.
    if (id === null || id === "" || id === this.#sessionId || this.#ids.has(id)) {
      this.linksInLines = true
      exception = { ...exception, entryId: "" }
    } else this.#ids.add(detached(id))
    if (exception !== undefined) this.#byEntry.set(place, exception)
  }

  end(): FrameExceptions {
    // A parent that comes after its child.
    for (const parentId of this.#missing) if (this.#ids.has(parentId)) this.linksInLines = true
    return { byEntry: this.#byEntry, linksInLines: this.linksInLines }
  }
}
