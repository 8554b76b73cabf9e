/** Makes checkpoints: folds the history up to the head, and writes the file. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as ActivePath from "../read/activePath.ts"
import * as Checkpoint from "../wire/Checkpoint.ts"
import type * as Manifest from "../wire/Manifest.ts"
import { type OffsetRow } from "../wire/OffsetRow.ts"
import { type StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { entriesOf } from "../StoreReader.ts"
import { type Head } from "../wire/WireField.ts"
import { type StoreView } from "../read/StoreView.ts"
import { openPresent } from "../read/openView.ts"
import * as Checkpoints from "../read/checkpointFiles.ts"
import { replaceFile } from "../files/durable.ts"
import { nowInstant } from "../files/manifestFile.ts"

/** The checkpoint of `head`, which must be indexed. It starts from the checkpoint before it. */
export const fold = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  head: Head
): Effect.fn.Return<
  Checkpoint.Checkpoint,
  StoreIoError | StoreDamaged,
  FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  const view = yield* openPresent(layout)
  const previous = yield* Checkpoints.newest(view, manifest.session_id)
  return {
    schema: Checkpoint.SCHEMA_ID,
    session_id: manifest.session_id,
    checkpoint_seq: yield* Checkpoints.freeNumber(layout, manifest.checkpoint_seq ?? 0),
    created_at: yield* nowInstant,
    manifest_revision: manifest.revision,
    head,
    entry_count: head.entry_seq,
    index: manifest.index,
    active_context: yield* contextAt(view, head, previous)
  }
})

/** The result of folding the history up to `head`, starting from an earlier checkpoint. */
export const contextAt = Effect.fnUntraced(function* (
  view: StoreView,
  head: Head,
  previous: Pick<Checkpoint.Checkpoint, "active_context"> | undefined
): Effect.fn.Return<Checkpoint.ActiveContext, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
  const leaf = head.entry_seq === 0 ? undefined : yield* view.row(head.entry_seq)
  const read = (rows: ReadonlyArray<OffsetRow>) => Effect.map(view.frames(rows), entriesOf)
  const active = leaf === undefined ? undefined : yield* ActivePath.resolve(view, leaf, previous, read)
  const ref = (row: OffsetRow | undefined): Checkpoint.EntryRef | null =>
    row === undefined ? null : { entry_seq: row.entry_seq, entry_id: row.entry_id }
  return {
    leaf: ref(leaf),
    thinking_level: ref(active?.thinkingLevel),
    model: ref(active?.model),
    compaction: ref(active?.compaction)
  }
})

/** Writes a checkpoint atomically. */
export const put = Effect.fnUntraced(function* (layout: StoreLayout, checkpoint: Checkpoint.Checkpoint) {
  const path = yield* Path.Path
  const target = layout.checkpoint(checkpoint.checkpoint_seq)
  yield* replaceFile(path.join(layout.tmp, "checkpoint.json"), target, Checkpoint.encode(checkpoint))
})
