/** Compares every checkpoint with the history. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import type * as Checkpoint from "../wire/Checkpoint.ts"
import type * as Manifest from "../wire/Manifest.ts"
import { type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { openPresent } from "../read/openView.ts"
import { type CheckpointFile } from "../read/checkpointFiles.ts"
import * as CheckpointFold from "../write/checkpointFold.ts"
import { type Report } from "./findings.ts"

type Needs = FileSystem.FileSystem | Path.Path

/** What the segments and the index hold. */
export interface History {
  /** Number of good index rows. */
  readonly rowCount: number
  /** `chain_hash` and id at the positions that checkpoints refer to. */
  readonly headAt: ReadonlyMap<number, string>
  readonly idAt: ReadonlyMap<number, string>
}

/** Positions that checkpoints refer to. */
export const positions = (checkpoints: ReadonlyArray<CheckpointFile>): ReadonlyArray<number> =>
  checkpoints.flatMap(({ checkpoint }) =>
    Result.isFailure(checkpoint)
      ? []
      : [checkpoint.success.head, ...Object.values(checkpoint.success.active_context)].flatMap((ref) =>
          ref === null ? [] : [ref.entry_seq]
        )
  )

/** Checks numbers, heads and entries of the checkpoints. Returns the sound ones, in order. */
export const check = (
  layout: StoreLayout,
  manifest: Manifest.Manifest | undefined,
  checkpoints: ReadonlyArray<CheckpointFile>,
  history: History,
  given: Report
): ReadonlyArray<Checkpoint.Checkpoint> => {
  const sound: Array<Checkpoint.Checkpoint> = []
  let isSound = true
  const report: Report = (...finding) => {
    isSound = false
    given(...finding)
  }
  const there = new Set(checkpoints.map(({ seq }) => seq))
  const last = Math.max(manifest?.checkpoint_seq ?? 0, ...there)
  for (let seq = 1; seq <= last; seq++) {
    if (!there.has(seq)) report(null, layout.checkpoint(seq), 0, "the checkpoint is missing")
  }
  const sessionId = history.idAt.get(0)
  let previous: Checkpoint.Checkpoint | undefined
  for (const { path, seq, checkpoint } of checkpoints) {
    if (Result.isFailure(checkpoint)) {
      report(null, path, 0, `the checkpoint is ignored: ${checkpoint.failure}`)
      continue
    }
    isSound = true
    const { success: found } = checkpoint
    if (found.checkpoint_seq !== seq) report("INV-004", path, 0, `its number is ${found.checkpoint_seq}`)
    if (sessionId !== undefined && found.session_id !== sessionId) {
      report("INV-004", path, 0, `it is of session ${found.session_id}`)
    }
    const { head } = found
    if (history.headAt.get(head.entry_seq) !== head.chain_hash) {
      report("INV-004", path, 0, "its head is not in the hash chain")
    }
    if (previous !== undefined && head.entry_seq < previous.head.entry_seq) {
      report("INV-004", path, 0, "its head lies before that of the checkpoint before it")
    }
    if (manifest?.state === "CHECKPOINTED" && manifest.checkpoint_seq === seq) {
      if (manifest.head?.chain_hash !== head.chain_hash) report("INV-004", path, 0, "its head is not the manifest's")
    }
    for (const ref of Object.values(found.active_context)) {
      if (ref === null) continue
      if (ref.entry_seq >= history.rowCount) {
        report("INV-006", path, 0, `entry ${ref.entry_id} of the active context is not indexed`)
      } else if (history.idAt.has(ref.entry_seq) && history.idAt.get(ref.entry_seq) !== ref.entry_id) {
        report("INV-006", path, 0, `entry ${ref.entry_id} is not at entry_seq ${ref.entry_seq}`)
      }
    }
    previous = found
    if (isSound) sound.push(found)
  }
  return sound
}

/** Folds the history again up to each checkpoint, from the one before, and compares. The history must be whole. */
export const foldAgain = Effect.fnUntraced(function* (
  layout: StoreLayout,
  checkpoints: ReadonlyArray<Checkpoint.Checkpoint>,
  report: Report
): Effect.fn.Return<void, StoreIoError, Needs> {
  if (checkpoints.length === 0) return
  const compare = Effect.gen(function* () {
    const view = yield* openPresent(layout)
    let previous: Pick<Checkpoint.Checkpoint, "active_context"> | undefined
    for (const { active_context: recorded, checkpoint_seq, head } of checkpoints) {
      const active_context = yield* CheckpointFold.contextAt(view, head, previous)
      const names = ["leaf", "thinking_level", "model", "compaction"] as const
      for (const name of names) {
        const [there, folded] = [recorded[name]?.entry_seq, active_context[name]?.entry_seq]
        if (there === folded) continue
        const at = (seq: number | undefined) => (seq === undefined ? "none" : `entry_seq ${seq}`)
        const message = `its ${name} is ${at(there)}, and that of the history ${at(folded)}`
        report("INV-006", layout.checkpoint(checkpoint_seq), 0, message)
      }
      previous = { active_context }
    }
  })
  // Damage since the scan: the next run reports it.
  yield* Effect.scoped(compare).pipe(Effect.catchTag("StoreDamaged", () => Effect.void))
})
