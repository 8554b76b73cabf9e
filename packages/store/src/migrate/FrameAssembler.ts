/**
 * Makes frames from the lines of a session file: one for the header and one for each entry. Every frame satisfies
 * INV-001; where a line does not, an exception gives the frame's values.
 */
import { stringAt } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type FrameInput } from "../wire/SegmentFrame.ts"

/** Values of an entry's frame that differ from its line. */
export type FrameException = Partial<Pick<FrameInput, "entryId" | "parentId" | "missingParentId" | "entryType">>

/** Exceptions of one session. */
export interface FrameExceptions {
  /** By position among the entries, from 1. */
  readonly byEntry: ReadonlyMap<number, FrameException>
  /** As `links_in_lines` of `SegmentFrame`. */
  readonly linksInLines: boolean
}

/** The id in a header; empty when there is none. */
export const sessionIdOf = (header: HeaderLine): string => stringAt(header.decode(), "id") ?? ""

/** One line of a file, also where the reader split it. */
interface WholeLine {
  /** The header or the entry on this line; undefined for a line without a frame of its own. */
  readonly own: HeaderLine | SessionEntry | undefined
  readonly bytes: Uint8Array
  readonly terminated: boolean
}

/** Joins the pieces into which the reader splits a damaged line. */
export function* wholeLines(lines: ReadonlyArray<SessionLine>, header: HeaderLine | undefined): Generator<WholeLine> {
  for (let from = 0; from < lines.length;) {
    const first = lines[from]!
    let to = from + 1
    while (lines[to]?.line === first.line) to++
    const pieces = lines.slice(from, to)
    const last = pieces.at(-1) ?? first
    const own =
      first instanceof SessionEntry && to === from + 1 && !first.recovered
        ? first
        : pieces.some((piece) => piece === header)
          ? header
          : undefined
    yield { own, bytes: first.source.subarray(first.start, last.end), terminated: last.terminated }
    from = to
  }
}

/** A line without a frame becomes part of the next entry's frame, or of the last one at the end of the file. */
export class FrameAssembler {
  readonly #reader = new SessionReader()
  readonly #exceptions: FrameExceptions
  readonly #beside: Array<Uint8Array> = []
  #entries = 0
  /** Held back, because lines without a frame may follow it at the end of the file. */
  #last: { readonly frame: FrameInput; readonly terminated: boolean } | undefined

  constructor(exceptions: FrameExceptions) {
    this.#exceptions = exceptions
  }

  /** Returns the frames that became complete. */
  push(chunk: Uint8Array): ReadonlyArray<FrameInput> {
    return this.#take(this.#reader.push(chunk))
  }

  /** Returns the remaining frames. */
  end(): ReadonlyArray<FrameInput> {
    const frames = [...this.#take(this.#reader.end())]
    const last = this.#last
    if (last === undefined) return frames
    const bytes = Buffer.concat([last.frame.payload, ...(last.terminated ? [NEWLINE] : []), ...this.#beside])
    const terminated = bytes.at(-1) === 0x0a
    frames.push({
      ...last.frame,
      payload: terminated ? bytes.subarray(0, -1) : bytes,
      ...(terminated ? {} : { unterminated: true })
    })
    return frames
  }

  #take(lines: ReadonlyArray<SessionLine>): ReadonlyArray<FrameInput> {
    const frames: Array<FrameInput> = []
    for (const { bytes, own, terminated } of wholeLines(lines, this.#reader.header)) {
      if (own === undefined) {
        this.#beside.push(terminated ? Buffer.concat([bytes, NEWLINE]) : bytes)
        continue
      }
      if (this.#last !== undefined) frames.push(this.#last.frame)
      const payload = this.#beside.length === 0 ? bytes : Buffer.concat([...this.#beside, bytes])
      this.#beside.length = 0
      this.#last = { frame: { ...this.#links(own), payload }, terminated }
    }
    return frames
  }

  #links(own: HeaderLine | SessionEntry): Omit<FrameInput, "payload"> {
    const { byEntry, linksInLines } = this.#exceptions
    if (own instanceof HeaderLine) {
      const frame = { entryId: sessionIdOf(own), parentId: null, entryType: "session" }
      return linksInLines ? { ...frame, linksInLines } : frame
    }
    const { id, parentId, type } = own
    return { entryId: id ?? "", parentId, entryType: type, ...byEntry.get(++this.#entries) }
  }
}

const NEWLINE = Buffer.from("\n")
