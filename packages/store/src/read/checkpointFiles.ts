/** The checkpoint files of a container: which can be used, and which number is free. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Checkpoint from "../wire/Checkpoint.ts"
import { chainHash } from "../wire/SegmentFrame.ts"
import { type StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { type Head } from "../wire/WireField.ts"
import { type StoreView } from "./StoreView.ts"
import { listNumbers, readWhole } from "../files/durable.ts"

type Needs = FileSystem.FileSystem | Path.Path

/** A file with a checkpoint's name: the checkpoint, or why it is damaged. */
export interface CheckpointFile {
  readonly path: string
  /** The number in its name. */
  readonly seq: number
  readonly checkpoint: Result.Result<Checkpoint.Checkpoint, string>
}

const numbers = (layout: StoreLayout) => listNumbers(layout.checkpoints, ".json")

const read = Effect.fnUntraced(function* (layout: StoreLayout, seq: number) {
  const path = layout.checkpoint(seq)
  const bytes = Option.getOrElse(yield* readWhole(path), () => Buffer.alloc(0))
  return { path, seq, checkpoint: Checkpoint.decode(bytes) } satisfies CheckpointFile
})

/** All checkpoint files in order. */
export const readAll = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<ReadonlyArray<CheckpointFile>, StoreIoError, Needs> {
  return yield* Effect.forEach(yield* numbers(layout), (seq) => read(layout, seq))
})

/** A number that no file has. Checkpoints are never overwritten, also damaged ones. */
export const freeNumber = Effect.fnUntraced(function* (
  layout: StoreLayout,
  last: number
): Effect.fn.Return<number, StoreIoError, Needs> {
  return Math.max(last, ...(yield* numbers(layout))) + 1
})

/** The newest checkpoint of this session's history. Damaged ones and those of another history are ignored. */
export const newest = Effect.fnUntraced(function* (
  view: StoreView,
  sessionId: string
): Effect.fn.Return<Checkpoint.Checkpoint | undefined, StoreIoError | StoreDamaged, Needs> {
  for (const seq of (yield* numbers(view.layout)).reverse()) {
    const { checkpoint } = yield* read(view.layout, seq)
    if (Result.isFailure(checkpoint)) continue
    const { active_context: context, checkpoint_seq, head, session_id } = checkpoint.success
    if (session_id !== sessionId || checkpoint_seq !== seq || !(yield* isInChain(view, head))) continue
    let holds = true
    for (const ref of [context.leaf, context.thinking_level, context.model, context.compaction]) {
      if (ref === null || !holds) continue
      const row = ref.entry_seq <= head.entry_seq ? yield* view.row(ref.entry_seq) : undefined
      holds = row?.entry_id === ref.entry_id
    }
    if (holds) return checkpoint.success
  }
  return undefined
})

/** Whether the history contains a head: the frame there has its hash, which covers all frames before. */
const isInChain = Effect.fnUntraced(function* (view: StoreView, head: Head) {
  if (head.entry_seq === view.head?.entry_seq) return head.chain_hash === view.head.chain_hash
  const row = head.entry_seq < view.frameCount ? yield* view.row(head.entry_seq) : undefined
  if (row?.entry_id !== head.entry_id) return false
  const [frame] = yield* view.frames([row]).pipe(Effect.catchTag("StoreDamaged", () => Effect.succeed([])))
  return frame !== undefined && chainHash(frame.bytes.subarray(frame.found.start, frame.found.end)) === head.chain_hash
})
