/** Checks every frame of a container: its link to the frame before, its parent, its id, and its index row. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { byteLengthOf, listNumbers, withFile } from "../files/durable.ts"
import { type Gap, scanOver } from "../read/soundFrames.ts"
import type * as Manifest from "../wire/Manifest.ts"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { type FoundFrame, type SegmentFrame } from "../wire/SegmentFrame.ts"
import { type Head } from "../wire/WireField.ts"
import { detached } from "../wire/detached.ts"
import { follows, headOfFound } from "../wire/frameLink.ts"
import { type Report } from "./findings.ts"
import * as IndexCheck from "./indexCheck.ts"

/** What the segments hold. */
export interface Scanned {
  /** The last whole frame. */
  readonly head: Head | undefined
  /** Of the last whole frame: its `entry_seq` and 1. */
  readonly frameCount: number
  readonly segmentCount: number
  readonly segmentBytes: number
  /** `chain_hash` at the wanted positions. */
  readonly headAt: ReadonlyMap<number, string>
  /** Entry id at the wanted positions. */
  readonly idAt: ReadonlyMap<number, string>
}

/** Reads all segments and compares the index with them. `wanted` are positions to remember. */
export const checkSegments = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest | undefined,
  wanted: ReadonlySet<number>,
  index: IndexCheck.IndexCursor,
  report: Report
): Effect.fn.Return<Scanned, StoreIoError, FileSystem.FileSystem> {
  const seqs = yield* listNumbers(layout.segments, ".seg")
  const frames = new FrameCheck(wanted, report)
  let segmentBytes = 0
  let expectedSeq = 1
  for (const segmentSeq of seqs) {
    const path = layout.segment(segmentSeq)
    if (segmentSeq !== expectedSeq) report("INV-005", path, 0, `segment ${expectedSeq} is missing`)
    expectedSeq = segmentSeq + 1
    const size = yield* byteLengthOf(path)
    segmentBytes += size
    const sealed = manifest?.segments.find((sealed) => sealed.segment_seq === segmentSeq)
    const segment = { path, segmentSeq, size, sealed, isLast: segmentSeq === seqs.at(-1) }
    const torn = yield* checkSegment(layout, segment, frames, index, report)
    if (torn !== undefined) yield* checkTorn(segment, torn, manifest, frames.frameCount, index, report)
  }
  for (const { segment_seq } of manifest?.segments ?? []) {
    if (segment_seq >= expectedSeq) report("INV-005", layout.segment(segment_seq), 0, "a sealed segment is missing")
  }
  if (index.byteLength > index.checked && !index.lost) {
    report("INV-003", layout.offsets, index.checked, "rows without a frame")
  }
  const { frameCount, head, headAt, idAt } = frames
  return { head, frameCount, segmentCount: seqs.length, segmentBytes, headAt, idAt }
})

interface Segment {
  readonly path: string
  readonly segmentSeq: number
  readonly size: number
  /** Undefined for a segment that the manifest does not count. */
  readonly sealed: Manifest.SealedSegment | undefined
  readonly isLast: boolean
}

/** Checks one segment. Returns the gap at its end where a writer may still be appending. */
const checkSegment = Effect.fnUntraced(function* (
  layout: StoreLayout,
  { isLast, path, sealed, segmentSeq, size }: Segment,
  frames: FrameCheck,
  index: IndexCheck.IndexCursor,
  report: Report
) {
  if (sealed !== undefined && sealed.byte_length !== size) {
    const message = `a sealed segment has ${size} bytes in place of ${sealed.byte_length}`
    report("INV-005", path, Math.min(size, sealed.byte_length), message)
  }
  const firstSeq = frames.head === undefined ? 0 : frames.head.entry_seq + 1
  const rows: Array<string> = []
  let torn: Gap | undefined
  yield* withFile(path, "r", (file) =>
    scanOver(
      file,
      path,
      size,
      (bytes, found, byteOffset) => {
        frames.check(path, segmentSeq, bytes, found, byteOffset)
        rows.push(OffsetRow.encodeText(OffsetRow.ofFound(found, byteOffset)))
      },
      (gap) => {
        if (gap.end === size && isLast && sealed === undefined && !frames.isAdrift) {
          torn = gap
          return
        }
        const upTo = gap.end === size ? "to the end of the segment" : `up to byte ${gap.end}`
        report("INV-005", path, gap.byteOffset, `${gap.reason} (${upTo})`)
        frames.isAdrift = true
        index.lost = true
      }
    )
  )
  const { head } = frames
  if (sealed !== undefined && head !== undefined) {
    if (!frames.isAdrift && head.chain_hash !== sealed.chain_hash) {
      report("INV-005", path, size, "the segment does not end where its manifest says the chain does")
    }
    const { first_entry_seq, frame_count, last_entry_seq } = sealed
    const isCounted = frame_count === rows.length && last_entry_seq === head.entry_seq && first_entry_seq === firstSeq
    if (!index.lost && !isCounted) {
      const counted = `${frame_count} frames, entry_seq ${first_entry_seq} to ${last_entry_seq}`
      report("INV-005", layout.manifest, 0, `it counts ${counted} in segment ${segmentSeq}, which holds others`)
    }
  }
  yield* IndexCheck.compare(layout, index, Buffer.from(rows.join("")), report)
  return torn
})

/** Reports a torn end that index or manifest count as a frame, or that is not an append under way. */
const checkTorn = Effect.fnUntraced(function* (
  { path, size }: Segment,
  torn: Gap,
  manifest: Manifest.Manifest | undefined,
  frameCount: number,
  index: IndexCheck.IndexCursor,
  report: Report
) {
  const isPromised = index.byteLength > index.checked || (manifest?.head?.entry_seq ?? -1) >= frameCount
  const grown = (yield* byteLengthOf(path)) !== size
  if (isPromised) report("INV-005", path, torn.byteOffset, `${torn.reason} (to the end of the segment)`)
  else if (!grown) report(null, path, torn.byteOffset, `an append that was not acknowledged: ${torn.reason}`)
  index.lost ||= isPromised
})

/** Checks frames in order. */
class FrameCheck {
  head: Head | undefined
  frameCount = 0
  /** After damage, the next frame is accepted without a link. */
  isAdrift = false
  readonly headAt = new Map<number, string>()
  readonly idAt = new Map<number, string>()
  readonly #wanted: ReadonlySet<number>
  readonly #report: Report
  readonly #ids = new Set<string>()
  #isInLines = false

  constructor(wanted: ReadonlySet<number>, report: Report) {
    this.#wanted = wanted
    this.#report = report
  }

  check(path: string, segmentSeq: number, bytes: Buffer, found: FoundFrame, byteOffset: number): void {
    const { frame } = found
    const wrong = this.isAdrift ? undefined : follows(this.head, segmentSeq, frame)
    if (wrong !== undefined) {
      const invariant = wrong.startsWith("entry_seq") || wrong.startsWith("frame_seq") ? "INV-002" : "INV-005"
      this.#report(invariant, path, byteOffset, wrong)
    }
    this.isAdrift = false
    this.#checkParent(path, byteOffset, frame)
    this.#checkId(path, byteOffset, frame)
    this.head = headOfFound(bytes, found)
    this.frameCount = frame.entry_seq + 1
    if (!this.#wanted.has(frame.entry_seq)) return
    this.headAt.set(frame.entry_seq, this.head.chain_hash)
    this.idAt.set(frame.entry_seq, frame.entry_id)
  }

  #checkParent(path: string, byteOffset: number, frame: SegmentFrame): void {
    const { entry_id, missing_parent_id: missingId, parent_entry_id: parentId } = frame
    // Most entries follow the one before them. The header is no entry.
    const followsLast = this.head !== undefined && this.head.entry_seq > 0 && parentId === this.head.entry_id
    if (parentId !== null && !followsLast && !this.#ids.has(parentId)) {
      this.#report("INV-001", path, byteOffset, `entry ${entry_id} has an unknown parent ${parentId}`)
    }
    if (missingId !== undefined && (parentId !== null || this.#ids.has(missingId))) {
      this.#report("INV-001", path, byteOffset, `entry ${entry_id} lacks its parent ${missingId}, which is there`)
    }
  }

  #checkId(path: string, byteOffset: number, frame: SegmentFrame): void {
    const { entry_id, entry_seq } = frame
    if (entry_seq === 0) {
      this.#isInLines = frame.links_in_lines === true
    } else if (entry_id === "") {
      if (this.#isInLines) return
      this.#report("INV-001", path, byteOffset, `the entry of entry_seq ${entry_seq} has no id`)
    } else {
      const known = this.#ids.size
      this.#ids.add(detached(entry_id))
      if (this.#ids.size > known) return
      this.#report("INV-001", path, byteOffset, `the id ${entry_id} is another entry's already`)
    }
  }
}
