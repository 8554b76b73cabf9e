/**
 * An entry as the viewer sees it: its payload comes without secrets and names, wherever it is asked for. So whatever is
 * made of a session of such entries (timeline, tree, labels, excerpts) can be sent as it is.
 */
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { SessionEntry } from "@pi-sessions/core/SessionLine"

/** What the entries of one session share: how their bytes are had, and what of them may be seen. */
export interface Sight {
  /** The payload as it may be seen. */
  readonly seen: (payload: JsonObject) => JsonObject
  /** The bytes of an entry, where they are not in memory; they are there until the next ones are asked for. */
  readonly read: ((byteOffset: number, length: number) => Uint8Array) | undefined
}

/** As Pi writes it. Anything else is no time, and may be anything. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u

const NOTHING = new Uint8Array(0)
const decoder = new TextDecoder()

export class ViewedEntry extends SessionEntry {
  /** In file order, from 0. */
  readonly index: number
  readonly #sight: Sight
  readonly #length: number

  constructor(entry: SessionEntry, index: number, sight: Sight) {
    const isPaged = sight.read !== undefined
    super(
      isPaged ? NOTHING : entry.source,
      isPaged ? 0 : entry.start,
      isPaged ? 0 : entry.end,
      entry.line,
      entry.byteOffset,
      entry.terminated,
      {
        type: entry.type,
        id: entry.id,
        parentId: entry.parentId,
        role: entry.role,
        // Read when it is asked for, as all that many entries would have a copy of.
        timestamp: undefined,
        recovered: entry.recovered,
        nullId: entry.nullId
      }
    )
    this.index = index
    this.#sight = sight
    this.#length = entry.end - entry.start
  }

  override get bytes(): Uint8Array {
    return this.#sight.read?.(this.byteOffset, this.#length).slice() ?? super.bytes
  }

  override get text(): string {
    const { read } = this.#sight
    return read === undefined ? super.text : decoder.decode(read(this.byteOffset, this.#length))
  }

  override get timestamp(): string | undefined {
    const written = stringAt(this.raw(), "timestamp")
    return written !== undefined && TIME.test(written) ? written : undefined
  }

  /** As it stands, secrets and all: for questions whose answer tells nothing of them. */
  raw(): JsonObject {
    return super.decode()
  }

  override decode(): JsonObject {
    return this.#sight.seen(this.raw())
  }
}
