/**
 * The active path of a store: the branch that ends at some entry, walked from its end over index rows, without reading
 * frames that nobody asked for.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Checkpoint } from "./Checkpoint.ts"
import { type OffsetRow } from "./OffsetRow.ts"
import { type StoreDamaged, type StoreIoError } from "./StoreError.ts"
import { type StoreView } from "./internal/StoreView.ts"

/** Rows first read at once when walking; the number doubles as the walk goes on. */
const FIRST_ROWS = 320
const ROWS_MAX = 1 << 14

/** Calls `visit` for the row of `leaf`, its parent, and so on to the root, as long as it returns true. */
export const walk = Effect.fnUntraced(function* (
  view: StoreView,
  leaf: OffsetRow,
  visit: (row: OffsetRow) => boolean
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem> {
  let window: ReadonlyArray<OffsetRow> = [leaf]
  let windowStart = leaf.entry_seq
  let byId: Map<string, OffsetRow> | undefined
  let size = FIRST_ROWS
  let row = leaf
  while (visit(row) && row.parent_entry_id !== null) {
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

/** Message entries looked into at a time for one of the assistant. */
const MESSAGES = 16

/**
 * Finds them: walks up from `leaf` until all are found, or until the walk comes by the leaf of `checkpoint`, which knows
 * the rest.
 */
export const resolve = Effect.fnUntraced(function* <R>(
  view: StoreView,
  leaf: OffsetRow,
  checkpoint: Checkpoint | undefined,
  read: (rows: ReadonlyArray<OffsetRow>) => Effect.Effect<ReadonlyArray<SessionEntry>, StoreIoError | StoreDamaged, R>
): Effect.fn.Return<ActiveRows, StoreIoError | StoreDamaged, FileSystem.FileSystem | R> {
  let thinkingLevel: OffsetRow | undefined
  let compaction: OffsetRow | undefined
  /** What may tell the model, newest first: whether a message is the assistant's stands in its payload. */
  const candidates: Array<OffsetRow> = []
  let foldedAt: OffsetRow | undefined
  const known = checkpoint?.active_context
  yield* walk(view, leaf, (row) => {
    if (known !== undefined && row.entry_id === known.leaf?.entry_id) {
      foldedAt = row
      return false
    }
    if (row.entry_type === "thinking_level_change") thinkingLevel ??= row
    else if (row.entry_type === "compaction") compaction ??= row
    else if (row.entry_type === "message" || row.entry_type === "model_change") candidates.push(row)
    return true
  })
  let model: OffsetRow | undefined
  for (let from = 0; from < candidates.length && model === undefined; from += MESSAGES) {
    const some = candidates.slice(from, from + MESSAGES).reverse()
    const entries = yield* read(some)
    const at = entries.findLastIndex((entry) => entry.type === "model_change" || entry.role === "assistant")
    model = some[at]
  }
  const ofFold = Effect.fnUntraced(function* (ref: { readonly entry_seq: number } | null | undefined) {
    return foldedAt === undefined || ref === null || ref === undefined ? undefined : yield* view.row(ref.entry_seq)
  })
  return {
    thinkingLevel: thinkingLevel ?? (yield* ofFold(known?.thinking_level)),
    model: model ?? (yield* ofFold(known?.model)),
    compaction: compaction ?? (yield* ofFold(known?.compaction))
  }
})
