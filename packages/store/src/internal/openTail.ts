/** The segments that are not sealed: what an interrupted writer may have left half-written. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as Manifest from "../Manifest.ts"
import * as OffsetRow from "../OffsetRow.ts"
import { chainHash } from "../SegmentFrame.ts"
import { type StoreIoError } from "../StoreError.ts"
import { type StoreLayout, numberOf } from "../StoreLayout.ts"
import { type Head } from "../WireField.ts"
import { listNames, sizeOf, withFile } from "./durable.ts"
import { follows, headOf } from "./frameLink.ts"
import * as Quarantine from "./quarantine.ts"
import { type Repair } from "./repair.ts"
import { scanSegment } from "./segmentScan.ts"

/** The segment that is not sealed yet. */
export interface OpenSegment {
  readonly segmentSeq: number
  readonly byteLength: number
  readonly firstEntrySeq: number
}

/** Frames of the segments that are not sealed, with where they lie. */
export interface OpenTail {
  readonly head: Head | undefined
  readonly rows: ReadonlyArray<OffsetRow.OffsetRow>
  /** Undefined when the next entry starts a new segment. */
  readonly openSegment: OpenSegment | undefined
}

/** Reads the segments after the sealed ones; what is torn there was never acknowledged and goes to quarantine. */
export const readTail = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  repairs: Array<Repair>
): Effect.fn.Return<OpenTail, StoreIoError, FileSystem.FileSystem | Path.Path> {
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
  let openSegment: OpenSegment | undefined
  let broken = false
  const names = yield* listNames(layout.segments)
  for (const segmentSeq of names.flatMap((name) => numberOf(name, ".seg") ?? [])) {
    if (segmentSeq <= (sealed?.segment_seq ?? 0)) continue
    const path = layout.segment(segmentSeq)
    const size = Option.getOrElse(yield* sizeOf(path), () => 0)
    const inOrder = segmentSeq === (openSegment?.segmentSeq ?? sealed?.segment_seq ?? 0) + 1
    const before = rows.length
    const ended =
      broken || !inOrder
        ? { offset: 0, damage: "it follows a segment that is missing or torn" }
        : yield* withFile(path, "r", (file) =>
            scanSegment(file, path, 0, size, (bytes, frame, byteOffset) => {
              const wrong = follows(head, segmentSeq, frame.frame)
              if (wrong !== undefined) return wrong
              head = headOf(frame.frame, chainHash(bytes.subarray(frame.start, frame.end)))
              rows.push(OffsetRow.ofFrame(frame.frame, byteOffset, frame.end - frame.start))
              return undefined
            })
          )
    if (ended.damage !== undefined) {
      broken = true
      if (size > ended.offset) {
        repairs.push({
          what: `segment ${segmentSeq}: bytes ${ended.offset} to ${size} cut off into quarantine: ${ended.damage}`,
          mend: Quarantine.cutOff(layout, path, ended.offset, size, ended.damage)
        })
      }
    }
    if (!inOrder) continue
    const firstEntrySeq = rows[before]?.entry_seq ?? (head === undefined ? 0 : head.entry_seq + 1)
    openSegment = { segmentSeq, byteLength: ended.offset, firstEntrySeq }
  }
  return { head, rows, openSegment }
})

/** Only needed when the manifest's head is not that of its last sealed segment. */
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
