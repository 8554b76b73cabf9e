/** Checks the manifest against the segments, the index, the marker and the session. */
import * as Effect from "effect/Effect"
import { type StoreLayout } from "../StoreLayout.ts"
import { SETTLED, type StoreState } from "../StoreState.ts"
import { otherSession, readSoundManifest } from "../files/manifestFile.ts"
import type * as ActiveStore from "../wire/ActiveStore.ts"
import type * as Manifest from "../wire/Manifest.ts"
import { type Report } from "./findings.ts"
import { type IndexCursor } from "./indexCheck.ts"
import { type Scanned } from "./segmentCheck.ts"

/** States in which every frame has its row. */
const INDEXED: ReadonlySet<StoreState> = new Set(["INDEXED", "CHECKPOINTED", "MIGRATED", "ROLLED_BACK"])

/** Number of frames that the manifest's head covers. */
const settledCount = ({ head }: Manifest.Manifest): number => (head === null ? 0 : head.entry_seq + 1)

/** The rows, the head and the segments that the manifest counts exist. */
export const check = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  scanned: Scanned,
  index: IndexCursor,
  report: Report
) {
  const { head, state } = manifest
  const settled = settledCount(manifest)
  const promised = Math.max(INDEXED.has(state) ? settled : 0, Math.min(scanned.frameCount, manifest.index.row_count))
  if (index.rowCount < promised) {
    const missing = `entries from entry_seq ${index.rowCount} on are not indexed`
    report("INV-003", layout.offsets, index.checked, missing)
  }
  if (head !== null) {
    const found = scanned.headAt.get(head.entry_seq)
    if (head.entry_seq >= scanned.frameCount) {
      report("INV-005", layout.manifest, 0, "the segments end before the manifest's head")
    } else if (found !== undefined && found !== head.chain_hash) {
      report("INV-005", layout.manifest, 0, "the manifest's head is not in the hash chain")
    }
  }
  // A rebuilt manifest does not count the last segment, also after a rollback.
  const isBehind = SETTLED.has(state) && state !== "ROLLED_BACK" && scanned.frameCount > settled
  const isOlder = isBehind || scanned.segmentCount > manifest.segments.length + 1
  if (isOlder && (yield* isUnchanged(layout, manifest))) {
    const message = `the manifest is older than the segments: it ends at entry ${settled - 1}, ${state}`
    report(null, layout.manifest, 0, message)
  }
})

/** Whether the manifest is still the one that was read. A live writer would have changed it. */
const isUnchanged = Effect.fnUntraced(function* (layout: StoreLayout, manifest: Manifest.Manifest) {
  const now = yield* readSoundManifest(layout)
  return now?.revision === manifest.revision && now.updated_at === manifest.updated_at
})

/** INV-007: marker and manifest pointer agree, and the container's state fits them. */
export const checkActive = (
  layout: StoreLayout,
  active: ActiveStore.ActiveStore,
  manifest: Manifest.Manifest,
  report: Report
): void => {
  const isNative = active.active === "native_v2"
  if (isNative !== (active.manifest !== null)) {
    report("INV-007", layout.manifest, 0, `the active store is ${active.active}, the manifest pointer says otherwise`)
  }
  if (isNative && manifest.state === "ROLLED_BACK") {
    report("INV-007", layout.manifest, 0, "the container is the active store, but its state is ROLLED_BACK")
  }
  if (isNative && manifest.state === "MIGRATION_STAGING") {
    report("INV-007", layout.manifest, 0, "the cutover to this container was not finished")
  }
  if (!isNative && !["ROLLED_BACK", "MIGRATION_STAGING", "CLEAN", "FAILED"].includes(manifest.state)) {
    report("INV-007", layout.manifest, 0, `another store is active, but this container's state is ${manifest.state}`)
  }
}

/** INV-007: manifest and header name the session whose container this should be. */
export const checkSession = (
  layout: StoreLayout,
  sessionId: string,
  manifest: Manifest.Manifest | undefined,
  headerId: string | undefined,
  report: Report
): void => {
  if (manifest !== undefined && manifest.session_id !== sessionId) {
    report("INV-007", layout.manifest, 0, otherSession(manifest.session_id, sessionId))
  }
  if (headerId !== undefined && headerId !== sessionId) {
    report("INV-007", layout.segment(1), 0, otherSession(headerId, sessionId))
  }
}
