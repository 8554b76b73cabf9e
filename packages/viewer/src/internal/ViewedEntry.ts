/**
 * An entry whose payload is redacted when it is decoded. Therefore everything made from it (timeline, tree, labels, excerpts)
 * is redacted too. See docs/adr/010-viewer.md.
 */
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { SessionEntry } from "@pi-sessions/core/SessionLine"

/** Shared by the entries of one session. */
export interface EntryAccess {
  /** The redacted payload. */
  readonly redact: (payload: JsonObject) => JsonObject
  /** Reads from the file; the result is valid until the next call. Undefined: entries are in memory. */
  readonly read: ((byteOffset: number, length: number) => Uint8Array) | undefined
}

/** A time as Pi writes it. Other text is not shown as a time, because it could be a secret. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u

const NOTHING = new Uint8Array(0)
const decoder = new TextDecoder()

export class ViewedEntry extends SessionEntry {
  /** In file order, from 0. */
  readonly index: number
  readonly #access: EntryAccess
  readonly #length: number

  constructor(entry: SessionEntry, index: number, access: EntryAccess) {
    const isPaged = access.read !== undefined
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
        // Read from the file on request, to save memory.
        timestamp: undefined,
        recovered: entry.recovered,
        nullId: entry.nullId
      }
    )
    this.index = index
    this.#access = access
    this.#length = entry.end - entry.start
  }

  override get bytes(): Uint8Array {
    return this.#access.read?.(this.byteOffset, this.#length).slice() ?? super.bytes
  }

  override get text(): string {
    const { read } = this.#access
    return read === undefined ? super.text : decoder.decode(read(this.byteOffset, this.#length))
  }

  override get timestamp(): string | undefined {
    const written = stringAt(this.raw(), "timestamp")
    return written !== undefined && TIME.test(written) ? written : undefined
  }

  /** The payload with its secrets: only for answers that do not depend on them. */
  raw(): JsonObject {
    return super.decode()
  }

  override decode(): JsonObject {
    return this.#access.redact(this.raw())
  }
}

/** The index of a viewed entry; undefined for other entries. */
export const indexOf = (entry: SessionEntry | undefined): number | undefined =>
  entry instanceof ViewedEntry ? entry.index : undefined

export const indexesOf = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<number> =>
  entries.flatMap((entry) => indexOf(entry) ?? [])
