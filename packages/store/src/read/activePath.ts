/** The active path of a store, the branch that ends at an entry. It is walked from its end over index rows. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type Json } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Checkpoint, type EntryRef } from "../wire/Checkpoint.ts"
import { type OffsetRow } from "../wire/OffsetRow.ts"
import { type StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreView } from "./StoreView.ts"

/** Rows of the first read of a walk; each further read doubles the number. */
const FIRST_ROWS = 320
const ROWS_MAX = 1 << 14

/** Calls `visit` for the row of `leaf`, its parent, and so on to the root, while it returns true or an effect of true. */
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
    // A parent after its child would make the walk endless. Only a damaged container has one.
    if (parent === undefined || parent.entry_seq >= row.entry_seq) return
    row = parent
  }
})

/** The newest entry of each type on a path; undefined where the path has none. */
export interface ActiveRows {
  /** The last `thinking_level_change`, also without a level. */
  readonly thinkingLevel: OffsetRow | undefined
  readonly model: OffsetRow | undefined
  readonly compaction: OffsetRow | undefined
}

/** Reads the entries of rows, in their order. */
type ReadEntries<R> = (
  rows: ReadonlyArray<OffsetRow>
) => Effect.Effect<ReadonlyArray<SessionEntry>, StoreIoError | StoreDamaged, R>

/** Messages that are read together in search of one by the assistant. */
const MESSAGES = 16

/** Finds the last model. The role of a message is in its payload, so messages are read in batches. */
class ModelSearch<R> {
  found: OffsetRow | undefined
  #waiting: Array<OffsetRow> = []
  readonly #read: ReadEntries<R>

  constructor(read: ReadEntries<R>) {
    this.#read = read
  }

  /** Takes the next row of a walk from the newest entry; true when `search` should be called. */
  add(row: OffsetRow): boolean {
    if (this.found !== undefined) return false
    const isChange = row.entry_type === "model_change"
    if (!isChange && row.entry_type !== "message") return false
    this.#waiting.push(row)
    return isChange || this.#waiting.length >= MESSAGES
  }

  /** Reads the entries of the rows that wait. */
  readonly search = Effect.fnUntraced({ self: this }, function* (this: ModelSearch<R>): Effect.fn.Return<
    void,
    StoreIoError | StoreDamaged,
    R
  > {
    const rows = this.#waiting.reverse()
    this.#waiting = []
    const entries = rows.length === 0 ? [] : yield* this.#read(rows)
    const at = entries.findLastIndex(({ role, type }) => type === "model_change" || role === "assistant")
    this.found ??= rows[at]
  })
}

/** Walks up from `leaf` until all are found, or until the walk reaches the leaf of `checkpoint`, which has the rest. */
export const resolve = Effect.fnUntraced(function* <R>(
  view: StoreView,
  leaf: OffsetRow,
  checkpoint: Pick<Checkpoint, "active_context"> | undefined,
  read: ReadEntries<R>
): Effect.fn.Return<ActiveRows, StoreIoError | StoreDamaged, FileSystem.FileSystem | R> {
  const model = new ModelSearch(read)
  let thinkingLevel: OffsetRow | undefined
  let compaction: OffsetRow | undefined
  let isFolded = false
  const known = checkpoint?.active_context
  yield* walk(view, leaf, (row) => {
    if (known !== undefined && row.entry_seq === known.leaf?.entry_seq) {
      isFolded = true
      return false
    }
    if (row.entry_type === "compaction") compaction ??= row
    if (row.entry_type === "thinking_level_change") thinkingLevel ??= row
    const goesOn = () => compaction === undefined || thinkingLevel === undefined || model.found === undefined
    return model.add(row) ? Effect.map(model.search(), goesOn) : goesOn()
  })
  yield* model.search()
  if (!isFolded || known === undefined) return { thinkingLevel, model: model.found, compaction }
  const folded = (ref: EntryRef | null) => (ref === null ? Effect.succeed(undefined) : view.row(ref.entry_seq))
  return {
    thinkingLevel: thinkingLevel ?? (yield* folded(known.thinking_level)),
    model: model.found ?? (yield* folded(known.model)),
    compaction: compaction ?? (yield* folded(known.compaction))
  }
})

/**
 * The thinking level change in force on a path, by the rule of SessionContext.settings: a change without a level is
 * ignored, and so is a level of null unless a newer entry set the model. Undefined when none is in force.
 */
export const levelInForce = Effect.fnUntraced(function* <R>(
  view: StoreView,
  { model, thinkingLevel }: ActiveRows,
  read: ReadEntries<R>
): Effect.fn.Return<OffsetRow | undefined, StoreIoError | StoreDamaged, FileSystem.FileSystem | R> {
  if (thinkingLevel === undefined) return undefined
  let level: Json | undefined
  let counts: OffsetRow | undefined
  yield* walk(view, thinkingLevel, (row) => {
    const isModelKnown = model !== undefined && row.entry_seq <= model.entry_seq
    if (isModelKnown && level !== undefined) return false
    if (row.entry_type !== "thinking_level_change") return true
    return Effect.map(read([row]), ([entry]) => {
      level = entry?.decode()["thinkingLevel"]
      counts = level === undefined ? undefined : row
      return level === undefined || (level === null && !isModelKnown)
    })
  })
  return counts
})
