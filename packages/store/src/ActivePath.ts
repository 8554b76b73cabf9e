/**
 * The active path of a store: the branch that ends at some entry, walked from its end over index rows, without reading
 * frames that nobody asked for.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type Json } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Checkpoint, type EntryRef } from "./Checkpoint.ts"
import { type OffsetRow } from "./OffsetRow.ts"
import { type StoreDamaged, type StoreIoError } from "./StoreError.ts"
import { type StoreView } from "./internal/StoreView.ts"

/** Rows first read at once when walking; the number doubles as the walk goes on. */
const FIRST_ROWS = 320
const ROWS_MAX = 1 << 14

/**
 * Calls `visit` for the row of `leaf`, its parent, and so on to the root, as long as it says true: at once, or in an
 * effect where it must read something first.
 */
export const walk = Effect.fnUntraced(function* <R = never>(
  view: StoreView,
  leaf: OffsetRow,
  visit: (row: OffsetRow) => boolean | Effect.Effect<boolean, StoreIoError | StoreDamaged, R>
): Effect.fn.Return<void, StoreIoError | StoreDamaged, FileSystem.FileSystem | R> {
  let window: ReadonlyArray<OffsetRow> = [leaf]
  let windowStart = leaf.entry_seq
  let byId: Map<string, OffsetRow> | undefined
  let size = FIRST_ROWS
  let row = leaf
  for (;;) {
    const goOn = visit(row)
    if (!(typeof goOn === "boolean" ? goOn : yield* goOn) || row.parent_entry_id === null) return
    const parentId: string = row.parent_entry_id
    // Most entries follow the one before them.
    let parent: OffsetRow | undefined = window[row.entry_seq - 1 - windowStart]
    if (parent?.entry_id !== parentId) {
      byId ??= new Map(window.map((row) => [row.entry_id, row]))
      parent = byId.get(parentId)
    }
    while (parent === undefined && windowStart > 1) {
      const start = Math.max(1, windowStart - size)
      window = yield* view.rows(start, windowStart)
      windowStart = start
      size = Math.min(size * 2, ROWS_MAX)
      byId = undefined
      parent = window.at(-1)
      if (parent?.entry_id !== parentId) {
        byId = new Map(window.map((row) => [row.entry_id, row]))
        parent = byId.get(parentId)
      }
    }
    if (parent === undefined) return
    row = parent
  }
})

/** The rows that say how things stand at the end of a path; undefined where the path has none. */
export interface ActiveRows {
  readonly thinkingLevel: OffsetRow | undefined
  readonly model: OffsetRow | undefined
  readonly compaction: OffsetRow | undefined
}

/** Gives the entries of rows, in their order. */
type ReadEntries<R> = (
  rows: ReadonlyArray<OffsetRow>
) => Effect.Effect<ReadonlyArray<SessionEntry>, StoreIoError | StoreDamaged, R>

/** Message entries looked into at a time for one of the assistant. */
const MESSAGES = 16

/**
 * What SessionContext.settings finds, on a walk from the newest entry: whether a message is the assistant's, and whether
 * a change of the thinking level tells one, stands in their payloads, which are read in batches.
 */
class Settings<R> {
  thinkingLevel: OffsetRow | undefined
  model: OffsetRow | undefined
  #level: Json | undefined
  #waiting: Array<OffsetRow> = []
  readonly #read: ReadEntries<R>

  constructor(read: ReadEntries<R>) {
    this.#read = read
  }

  get areFound(): boolean {
    return this.thinkingLevel !== undefined && this.model !== undefined
  }

  /** A level of null was told, and no model yet: what counts depends on the rows before it. */
  get isInDoubt(): boolean {
    return this.#level === null && this.model === undefined
  }

  /** Takes the next row of the walk; true when `look` should be called. */
  add(row: OffsetRow): boolean {
    const isMessage = row.entry_type === "message"
    const ofModel = this.model === undefined && (isMessage || row.entry_type === "model_change")
    const ofThinking = !this.areFound && row.entry_type === "thinking_level_change"
    if (!ofModel && !ofThinking) return false
    this.#waiting.push(row)
    return !isMessage || this.#waiting.length >= MESSAGES
  }

  /** Looks into the rows that wait. */
  readonly look = Effect.fnUntraced({ self: this }, function* (this: Settings<R>): Effect.fn.Return<
    void,
    StoreIoError | StoreDamaged,
    R
  > {
    const rows = this.#waiting.reverse()
    this.#waiting = []
    const entries = rows.length === 0 ? [] : yield* this.#read(rows)
    for (let i = entries.length - 1; i >= 0 && !this.areFound; i--) {
      const [entry, row] = [entries[i], rows[i]]
      if (entry?.type === "thinking_level_change") {
        // As in core: while the model is not found either, null stands for no more than the level before it.
        if (this.#level !== undefined && this.#level !== null) continue
        this.#level = entry.decode()["thinkingLevel"]
        this.thinkingLevel = this.#level === undefined ? undefined : row
      } else if (entry?.type === "model_change" || entry?.role === "assistant") this.model ??= row
    }
  })
}

/**
 * Finds them: walks up from `leaf` until all are found, or until the walk comes by the leaf of `checkpoint`, which knows
 * the rest.
 */
export const resolve = Effect.fnUntraced(function* <R>(
  view: StoreView,
  leaf: OffsetRow,
  checkpoint: Checkpoint | undefined,
  read: ReadEntries<R>
): Effect.fn.Return<ActiveRows, StoreIoError | StoreDamaged, FileSystem.FileSystem | R> {
  const settings = new Settings(read)
  let compaction: OffsetRow | undefined
  let isFolded = false
  const known = checkpoint?.active_context
  yield* walk(view, leaf, (row) => {
    if (known !== undefined && row.entry_id === known.leaf?.entry_id && !settings.isInDoubt) {
      isFolded = true
      return false
    }
    if (row.entry_type === "compaction") compaction ??= row
    const goesOn = () => compaction === undefined || !settings.areFound
    return settings.add(row) ? Effect.map(settings.look(), goesOn) : goesOn()
  })
  yield* settings.look()
  if (!isFolded || known === undefined) {
    return { thinkingLevel: settings.thinkingLevel, model: settings.model, compaction }
  }
  const folded = (ref: EntryRef | null) => (ref === null ? Effect.succeed(undefined) : view.row(ref.entry_seq))
  compaction ??= yield* folded(known.compaction)
  settings.model ??= yield* folded(known.model)
  const changed = settings.thinkingLevel === undefined ? yield* folded(known.thinking_level) : undefined
  if (changed !== undefined) {
    // A checkpoint may name a change that tells no level: then one before it counts.
    const goesOn = () => settings.thinkingLevel === undefined
    yield* walk(view, changed, (row) => (settings.add(row) ? Effect.map(settings.look(), goesOn) : goesOn()))
  }
  return { thinkingLevel: settings.thinkingLevel, model: settings.model, compaction }
})
