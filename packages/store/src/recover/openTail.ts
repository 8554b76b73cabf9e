/** Reads the segments after the sealed ones, which an interrupted writer may have left incomplete. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import type * as Manifest from "../wire/Manifest.ts"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { type Head } from "../wire/WireField.ts"
import { byteLengthOf, listNumbers, withFile } from "../files/durable.ts"
import { follows, headOfFound } from "../wire/frameLink.ts"
import * as Quarantine from "./quarantine.ts"
import { type Repair } from "./repair.ts"
import { sealedAt } from "../wire/sealing.ts"
import { scanSegment } from "../read/segmentScan.ts"

/** The last segment, which is not sealed yet. */
export interface OpenSegment {
  readonly segmentSeq: number
  readonly byteLength: number
  readonly firstEntrySeq: number
}

/** Frames after the sealed segments, with their positions. */
export interface OpenTail {
  readonly head: Head | undefined
  /** Sealed segments that the manifest, an older one, does not count. */
  readonly uncounted: ReadonlyArray<Manifest.SealedSegment>
  readonly rows: ReadonlyArray<OffsetRow.OffsetRow>
  /** Undefined when the next entry starts a new segment. */
  readonly openSegment: OpenSegment | undefined
}

/**
 * Reads the segments after the counted ones. A torn end of the last one was never acknowledged; a repair quarantines it.
 * The segments before the last one were sealed before it was created, so they must exist and be whole.
 */
export const readTail = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  repairs: Array<Repair>
): Effect.fn.Return<OpenTail, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path> {
  const sealed = manifest.segments.at(-1)
  let head: Head | undefined
  if (sealed !== undefined) {
    const entryId = manifest.head?.entry_seq === sealed.last_entry_seq ? manifest.head.entry_id : undefined
    head = {
      segment_seq: sealed.segment_seq,
      frame_seq: sealed.frame_count,
      entry_seq: sealed.last_entry_seq,
      entry_id: entryId ?? (yield* lastEntryId(layout, sealed)),
      chain_hash: sealed.chain_hash
    }
  }
  const rows: Array<OffsetRow.OffsetRow> = []
  const uncounted: Array<Manifest.SealedSegment> = []
  let openSegment: OpenSegment | undefined
  const first = (sealed?.segment_seq ?? 0) + 1
  const seqs = yield* listNumbers(layout.segments, ".seg")
  for (const [at, segmentSeq] of seqs.filter((segmentSeq) => segmentSeq >= first).entries()) {
    const path = layout.segment(segmentSeq)
    const gone = (path: string, byteOffset: number, reason: string) =>
      new StoreDamaged({ path, byteOffset, reason, invariant: "INV-005" })
    if (segmentSeq !== first + at) return yield* gone(layout.segment(first + at), 0, "the segment is missing")
    const size = yield* byteLengthOf(path)
    const firstEntrySeq = head === undefined ? 0 : head.entry_seq + 1
    const ended = yield* withFile(path, "r", (file) =>
      scanSegment(file, path, 0, size, (bytes, frame, byteOffset) => {
        const wrong = follows(head, segmentSeq, frame.frame)
        if (wrong !== undefined) return wrong
        head = headOfFound(bytes, frame)
        rows.push(OffsetRow.ofFound(frame, byteOffset))
        return undefined
      })
    )
    if (segmentSeq !== seqs.at(-1)) {
      if (ended.damage !== undefined) return yield* gone(path, ended.offset, ended.damage)
      if (head?.segment_seq !== segmentSeq) return yield* gone(path, 0, "the segment is empty")
      uncounted.push(sealedAt(head, firstEntrySeq, size))
      continue
    }
    if (ended.damage !== undefined && size > ended.offset) {
      repairs.push({
        description: `segment ${segmentSeq}: bytes ${ended.offset} to ${size} cut off into quarantine: ${ended.damage}`,
        apply: Quarantine.cutOff(layout, path, ended.offset, size, ended.damage)
      })
    }
    openSegment = { segmentSeq, byteLength: ended.offset, firstEntrySeq }
  }
  return { head, uncounted, rows, openSegment }
})

/** Reads the id of a segment's last entry, for a manifest whose head is not there. */
const lastEntryId = Effect.fnUntraced(function* (layout: StoreLayout, sealed: Manifest.SealedSegment) {
  const path = layout.segment(sealed.segment_seq)
  let entryId = ""
  yield* withFile(path, "r", (file) =>
    scanSegment(file, path, 0, sealed.byte_length, (_bytes, found) => {
      entryId = found.frame.entry_id
      return undefined
    })
  )
  return entryId
})
