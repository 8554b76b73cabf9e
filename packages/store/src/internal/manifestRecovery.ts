/** A manifest that is missing or damaged, made again from the segments. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Manifest from "../Manifest.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { chainHash } from "../SegmentFrame.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout, numberOf } from "../StoreLayout.ts"
import { type Head } from "../WireField.ts"
import { listNames, sizeOf, withFile } from "./durable.ts"
import { follows, headOf } from "./frameLink.ts"
import { nowInstant, writeManifest } from "./manifestFile.ts"
import * as Quarantine from "./quarantine.ts"
import { type Repair } from "./repair.ts"
import { scanSegment } from "./segmentScan.ts"

/** A manifest from the segments alone. Its state is DIRTY, by way of FAILED; when it was made is not known any more. */
export const rebuildManifest = Effect.fnUntraced(function* (
  layout: StoreLayout,
  sessionId: string,
  error: StoreDamaged,
  repairs: Array<Repair>
): Effect.fn.Return<Manifest.Manifest, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path> {
  const seqs = (yield* listNames(layout.segments)).flatMap((name) => numberOf(name, ".seg") ?? [])
  const segments: Array<Manifest.SealedSegment> = []
  let head: Head | undefined
  // All but the last were sealed before the next one was made.
  for (const segmentSeq of seqs.slice(0, -1)) {
    const path = layout.segment(segmentSeq)
    const size = Option.getOrElse(yield* sizeOf(path), () => 0)
    const firstSeq = head === undefined ? 0 : head.entry_seq + 1
    const ended = yield* withFile(path, "r", (file) =>
      scanSegment(file, path, 0, size, (bytes, found) => {
        const wrong = follows(head, segmentSeq, found.frame)
        if (wrong === undefined) head = headOf(found.frame, chainHash(bytes.subarray(found.start, found.end)))
        return wrong
      })
    )
    if (ended.damage !== undefined || head?.segment_seq !== segmentSeq) {
      const reason = ended.damage ?? "the segment is empty"
      return yield* new StoreDamaged({ path, byteOffset: ended.offset, reason, invariant: "INV-005" })
    }
    segments.push({
      segment_seq: segmentSeq,
      frame_count: head.frame_seq,
      byte_length: size,
      first_entry_seq: firstSeq,
      last_entry_seq: head.entry_seq,
      chain_hash: head.chain_hash
    })
  }
  const at = yield* nowInstant
  const { events } = yield* MigrationLedger.read(layout)
  const completed = events.findLast((event) => event.phase === "completed")
  const size = Option.getOrUndefined(yield* sizeOf(layout.manifest))
  const manifest: Manifest.Manifest = {
    schema: Manifest.SCHEMA_ID,
    session_id: sessionId,
    revision: 1,
    state: "DIRTY",
    created_at: at,
    updated_at: at,
    head: head ?? null,
    entry_count: head?.entry_seq ?? 0,
    segments,
    index: { byte_length: 0, row_count: 0 },
    checkpoint_seq: null,
    correlation_id: completed?.correlation_id ?? null,
    source: completed?.source ?? null
  }
  const kept = size === undefined ? Effect.void : Quarantine.keep(layout, layout.manifest, 0, size, error.reason)
  repairs.push({
    what: `manifest: made again from the segments: ${error.reason}`,
    mend: Effect.andThen(kept, writeManifest(layout, manifest))
  })
  return manifest
})
