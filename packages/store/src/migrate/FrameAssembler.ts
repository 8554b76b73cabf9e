/**
 * Lines of a session file on their way into frames: the header and each entry get one. INV-001 holds for every frame,
 * whatever the lines say: where it would not, an exception says what the frame has instead.
 */
import { stringAt } from "@pi-sessions/core/Json"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type FrameInput } from "../wire/SegmentFrame.ts"

/** What the frame of an entry says otherwise than its line. */
export type FrameException = Partial<Pick<FrameInput, "entryId" | "parentId" | "missingParentId" | "entryType">>

/** Where the frames of a session do not say what its lines do. */
export interface FrameExceptions {
  /** By the entry's place among the entries, from 1. */
  readonly byEntry: ReadonlyMap<number, FrameException>
  /** See `SegmentFrame`. */
  readonly linksInLines: boolean
}

/** The id in a header. */
export const sessionIdOf = (header: HeaderLine): string => stringAt(header.decode(), "id") ?? ""

/** A line of a file, whatever the reader made of it. */
interface WholeLine {
  /** The header or the entry that it is; undefined where it gets no frame of its own. */
  readonly own: HeaderLine | SessionEntry | undefined
  readonly bytes: Uint8Array
  readonly terminated: boolean
}

/** The lines that a reader gave, each in one piece: of a damaged one it gives several. */
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

/** Lines of a session file as frames: a line that gets none goes with the entry after it, or with the last one. */
export class FrameAssembler {
  readonly #reader = new SessionReader()
  readonly #exceptions: FrameExceptions
  readonly #beside: Array<Uint8Array> = []
  #entries = 0
  /** Held back, for other lines may follow it to the end of the file. */
  #last: { readonly frame: FrameInput; readonly terminated: boolean } | undefined

  constructor(exceptions: FrameExceptions) {
    this.#exceptions = exceptions
  }

  /** The frames that became complete. */
  push(chunk: Uint8Array): ReadonlyArray<FrameInput> {
    return this.#take(this.#reader.push(chunk))
  }

  /** The last ones. */
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
