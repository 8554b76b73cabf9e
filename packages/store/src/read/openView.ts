/** Opens a view: reads the manifest, the end of the index, and the frames after its last row. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { type StoreDamaged, StoreIoError, StoreNotFound } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { listNumbers, openFile, readAt, readWhole, sizeOf } from "../files/durable.ts"
import * as FileIdentity from "../files/fileIdentity.ts"
import * as Manifest from "../wire/Manifest.ts"
import { IndexFile, rowsIn } from "./IndexFile.ts"
import { type Container, StoreView } from "./StoreView.ts"
import { headOfFound } from "../wire/frameLink.ts"

const TAIL_BYTES = 1 << 14

/** The last whole row of an index file, searched backwards from its end. */
const lastRow = Effect.fnUntraced(function* (file: FileSystem.File, path: string, size: number) {
  let block = TAIL_BYTES
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - block)
    const bytes = yield* readAt(file, path, from, end - from)
    const skipped = from === 0 ? 0 : bytes.indexOf(0x0a) + 1
    for (let stop = bytes.lastIndexOf(0x0a); stop >= skipped && stop >= 0;) {
      const start = stop === 0 ? 0 : bytes.lastIndexOf(0x0a, stop - 1) + 1
      if (start < skipped) break
      const found = rowsIn(bytes.subarray(start, stop + 1), from + start).rows[0]
      if (found !== undefined) return found
      stop = start - 1
    }
    // A row longer than the block: the block has no newline, or only the last one.
    if (from > 0 && (skipped === 0 || skipped === bytes.length)) block *= 4
    else end = from + skipped
  }
  return undefined
})

/** Opens a view until the scope closes. */
export const openView = Effect.fn("StoreView.open")(function* (
  layout: StoreLayout
): Effect.fn.Return<
  StoreView,
  StoreNotFound | StoreIoError | StoreDamaged,
  FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  if (Option.isNone(yield* sizeOf(layout.container))) return yield* new StoreNotFound({ path: layout.container })
  // Held open, so that no other directory can get its identity.
  const directory = yield* held(layout.container)
  const identity = yield* FileIdentity.ofFile(directory.file, layout.container)
  const decoded = Option.flatMap(yield* readWhole(layout.manifest), (bytes) =>
    Result.getSuccess(Manifest.decode(bytes))
  )
  const manifest = Option.getOrUndefined(decoded)
  // The index is read before the segments, so that a live writer can only be ahead of it.
  const indexBytes = yield* sizeOf(layout.offsets)
  const offsets = Option.isNone(indexBytes) ? undefined : yield* held(layout.offsets)
  const segmentSeqs = yield* listNumbers(layout.segments, ".seg")
  const container: Container = { layout, identity, manifest, segmentSeqs }
  const size = Option.getOrElse(indexBytes, () => 0)
  const last = offsets === undefined ? undefined : yield* lastRow(offsets.file, offsets.path, size)
  if (offsets !== undefined && last !== undefined) {
    const index = new IndexFile(offsets.file, offsets.path, last.end, last.row.entry_seq + 1)
    const view = yield* scoped(new StoreView(container, index))
    // A row is written after its frame was acknowledged, so a session without that frame is damaged.
    const [frame] = yield* view.frames([last.row])
    if (frame !== undefined) {
      const { bytes, found } = frame
      const head = headOfFound(bytes, found)
      yield* view.scanFrom({ head, byteOffset: last.row.byte_offset + last.row.byte_length })
      yield* view.mustBeInPlace()
      return view
    }
  }
  const view = yield* scoped(new StoreView(container, undefined))
  yield* view.scanFrom(undefined)
  yield* view.mustBeInPlace()
  return view
})

const held = (path: string) => Effect.acquireRelease(openFile(path, "r"), (opened) => Effect.ignore(opened.close))

const scoped = (view: StoreView) => Effect.acquireRelease(Effect.succeed(view), (view) => view.close)

/** As `openView`, for a container that is being written; a missing one is an I/O error. */
export const openPresent = (layout: StoreLayout) =>
  openView(layout).pipe(
    Effect.catchTag("StoreNotFound", ({ path }) =>
      Effect.fail(new StoreIoError({ path, operation: "read", reason: "the container is not there any more" }))
    )
  )
