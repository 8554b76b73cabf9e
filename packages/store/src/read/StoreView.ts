/**
 * A container opened for reading: where its frames lie and how to get them. Nothing is written, so a view may be opened
 * beside a live writer; it sees what was there when it was opened.
 *
 * Opening reads the manifest, the end of the index and the frames behind its last row. Where the index is missing or
 * damaged, rows are made from the segments in memory. When those give less than the manifest or the index promised, that
 * is damage, never a shorter session.
 *
 * Another container may be put in place of the one that was opened (a rollback and a migration do that). Segments are
 * opened when they are needed, so the directory is held open and compared: a view never gives anything of another one.
 *
 * Fibers may share a view: one reads at a time.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Manifest from "../wire/Manifest.ts"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { type FoundFrame, chainHash, decode } from "../wire/SegmentFrame.ts"
import { StoreDamaged, StoreIoError, StoreNotFound } from "../StoreError.ts"
import { type StoreLayout, numberOf } from "../StoreLayout.ts"
import { type Head } from "../wire/WireField.ts"
import { IndexFile, rowsIn } from "./IndexFile.ts"
import { type OpenFile, listNames, openFile, readAt, readWhole, sizeOf } from "../files/durable.ts"
import * as FileIdentity from "../files/fileIdentity.ts"
import { follows, headOf } from "../wire/frameLink.ts"
import { scanSegment } from "./segmentScan.ts"

/** A verified frame in memory of its own. */
export interface LoadedFrame {
  readonly row: OffsetRow.OffsetRow
  readonly bytes: Buffer
  readonly found: FoundFrame
}

/** Frames are read together up to this size. */
const READ_BYTES = 4 << 20
const OPEN_SEGMENTS_MAX = 8
const TAIL_BYTES = 1 << 14

/** Rows that were made from the segments. */
interface Scanned {
  readonly rows: Array<OffsetRow.OffsetRow>
  readonly head: Head | undefined
  /** Why the scan ended before the segments did, where they end in something else than a whole frame. */
  readonly trailing: StoreDamaged | undefined
}

/** What is known of a container before its frames are looked at. */
interface Container {
  readonly layout: StoreLayout
  readonly identity: FileIdentity.FileIdentity
  readonly manifest: Manifest.Manifest | undefined
  readonly segmentSeqs: ReadonlyArray<number>
}

/** A container's frames as they were when it was opened. */
export class StoreView {
  readonly layout: StoreLayout
  /** Of the container's directory, which is open as long as the view is. */
  readonly #identity: FileIdentity.FileIdentity
  /** Undefined when it is missing or damaged. */
  readonly manifest: Manifest.Manifest | undefined
  readonly segmentSeqs: ReadonlyArray<number>
  #index: IndexFile | undefined
  /** Rows that follow those of the index file. */
  #rows: Array<OffsetRow.OffsetRow> = []
  #head: Head | undefined
  /** Why the last frames are not there, when something lies behind the head. */
  #trailing: StoreDamaged | undefined
  readonly #segments = new Map<number, OpenFile>()
  /** Held by whoever reads: the rows and the open segments change meanwhile. Not re-entrant. */
  readonly #lock = Semaphore.makeUnsafe(1)

  constructor({ identity, layout, manifest, segmentSeqs }: Container, index: IndexFile | undefined) {
    this.layout = layout
    this.#identity = identity
    this.manifest = manifest
    this.segmentSeqs = segmentSeqs
    this.#index = index
  }

  /** The last whole frame; undefined in a store without frames. */
  get head(): Head | undefined {
    return this.#head
  }

  /** What lies behind the head and is no whole frame. */
  get trailing(): StoreDamaged | undefined {
    return this.#trailing
  }

  /** Frames there are, that of the session's header included. */
  get frameCount(): number {
    return (this.#index?.rowCount ?? 0) + this.#rows.length
  }

  /** Rows `from` to `to`, the latter excluded. */
  readonly rows = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreView,
      from: number,
      to: number
    ): Effect.fn.Return<ReadonlyArray<OffsetRow.OffsetRow>, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
      const indexed = this.#index?.rowCount ?? 0
      const ofFile =
        this.#index === undefined || from >= indexed
          ? []
          : yield* this.#index
              .rows(from, Math.min(to, indexed))
              .pipe(
                Effect.catchTag("IndexUnusable", () =>
                  Effect.map(this.#rebuild(), () => this.#rows.slice(from, Math.min(to, indexed)))
                )
              )
      const start = this.#index?.rowCount ?? 0
      return to <= start ? ofFile : ofFile.concat(this.#rows.slice(Math.max(from, indexed) - start, to - start))
    },
    (effect) => this.#lock.withPermit(effect)
  )

  /** The row of an entry's place; undefined behind the end. */
  readonly row = (seq: number) => Effect.map(this.rows(seq, seq + 1), (rows) => rows[0])

  /** The row of an entry id; undefined when there is none. */
  readonly find = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreView,
      entryId: string
    ): Effect.fn.Return<OffsetRow.OffsetRow | undefined, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
      const inMemory = () => this.#rows.findLast((row) => row.entry_id === entryId)
      const recent = inMemory()
      if (recent !== undefined || this.#index === undefined) return recent
      return yield* this.#index
        .find(entryId)
        .pipe(Effect.catchTag("IndexUnusable", () => Effect.map(this.#rebuild(), inMemory)))
    },
    (effect) => this.#lock.withPermit(effect)
  )

  /** The frames of rows in order, each checked against its row. */
  readonly frames = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreView,
      rows: ReadonlyArray<OffsetRow.OffsetRow>
    ): Effect.fn.Return<ReadonlyArray<LoadedFrame>, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
      const loaded: Array<LoadedFrame> = []
      for (let i = 0; i < rows.length;) {
        const first = rows[i]!
        let end = first.byte_offset + first.byte_length
        let next = i + 1
        for (; next < rows.length; next++) {
          const row = rows[next]!
          const adjoins = row.segment_seq === first.segment_seq && row.byte_offset === end
          if (!adjoins || end + row.byte_length - first.byte_offset > READ_BYTES) break
          end += row.byte_length
        }
        const path = this.layout.segment(first.segment_seq)
        const { file } = yield* this.#segment(first.segment_seq)
        const bytes = yield* readAt(file, path, first.byte_offset, end - first.byte_offset)
        for (; i < next; i++) {
          const row = rows[i]!
          const at = row.byte_offset - first.byte_offset
          const found = decode(bytes, at, Math.min(at + row.byte_length, bytes.length))
          if (found._tag !== "Frame" || !isFrameOf(row, found)) {
            const reason =
              found._tag === "Damaged"
                ? found.reason
                : found._tag === "Incomplete"
                  ? "the file ends within a frame"
                  : "another frame than its index row says"
            return yield* new StoreDamaged({
              path,
              byteOffset: row.byte_offset,
              reason: `entry ${row.entry_id} cannot be read: ${reason}`,
              invariant: found._tag === "Incomplete" ? "INV-003" : "INV-005"
            })
          }
          loaded.push({ row, bytes, found })
        }
      }
      return loaded
    },
    (effect) => this.#lock.withPermit(effect)
  )

  readonly #segment = Effect.fnUntraced(
    { self: this },
    function* (this: StoreView, segmentSeq: number): Effect.fn.Return<OpenFile, StoreIoError, FileSystem.FileSystem> {
      const known = this.#segments.get(segmentSeq)
      if (known !== undefined) return known
      const [oldest] = this.#segments
      if (oldest !== undefined && this.#segments.size >= OPEN_SEGMENTS_MAX) {
        this.#segments.delete(oldest[0])
        yield* oldest[1].close
      }
      const opened = yield* openFile(this.layout.segment(segmentSeq), "r").pipe(
        Effect.tapError(() => this.mustBeInPlace())
      )
      this.#segments.set(segmentSeq, opened)
      // Asked after it was opened: it was in place then.
      yield* this.mustBeInPlace().pipe(
        Effect.tapCause(() => {
          this.#segments.delete(segmentSeq)
          return Effect.ignore(opened.close)
        })
      )
      return opened
    },
    // What is opened is also remembered, to be closed.
    Effect.uninterruptible
  )

  /** Fails when the container's name does not lead to the one that was opened any more. */
  readonly mustBeInPlace = Effect.fnUntraced({ self: this }, function* (this: StoreView): Effect.fn.Return<
    void,
    StoreIoError,
    FileSystem.FileSystem
  > {
    const path = this.layout.container
    const now = yield* FileIdentity.at(path)
    if (Option.isSome(now) && FileIdentity.isSame(now.value, this.#identity)) return
    const reason = "it was removed, or another container was put in its place, since it was opened; open it again"
    return yield* new StoreIoError({ path, operation: "read", reason })
  })

  /** Closes what is open. */
  readonly close = Effect.suspend(() =>
    Effect.forEach([...this.#segments.values()], (opened) => Effect.ignore(opened.close), { discard: true })
  )

  /** Makes all rows from the segments, in memory: as many as were known, and none that came later. */
  readonly #rebuild = Effect.fnUntraced({ self: this }, function* (this: StoreView): Effect.fn.Return<
    void,
    StoreIoError | StoreDamaged,
    FileSystem.FileSystem
  > {
    yield* this.mustBeInPlace()
    const { rows } = yield* this.#scan(undefined, this.frameCount)
    this.#index = undefined
    this.#rows = rows
  })

  /** Takes in the frames that follow a head (all of them without one), as far as they are whole and in order. */
  readonly scanFrom = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreView,
      after: { readonly head: Head; readonly byteOffset: number } | undefined
    ): Effect.fn.Return<void, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
      const scanned = yield* this.#scan(after)
      this.#head = scanned.head
      this.#rows = scanned.rows
      this.#trailing = scanned.trailing
    },
    (effect) => this.#lock.withPermit(effect)
  )

  /** Reads the frames that follow a head, no further than `frameCount` frames of the store; fewer are damage. */
  readonly #scan = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreView,
      after: { readonly head: Head; readonly byteOffset: number } | undefined,
      frameCount?: number
    ): Effect.fn.Return<Scanned, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
      const rows: Array<OffsetRow.OffsetRow> = []
      let head = after?.head
      let trailing: StoreDamaged | undefined
      const isDone = () => frameCount !== undefined && (head?.entry_seq ?? -1) + 1 >= frameCount
      for (const segmentSeq of this.segmentSeqs) {
        if (trailing !== undefined || isDone()) break
        if (after !== undefined && segmentSeq < after.head.segment_seq) continue
        const path = this.layout.segment(segmentSeq)
        const size = Option.getOrElse(yield* sizeOf(path), () => 0)
        const from = segmentSeq === after?.head.segment_seq ? after.byteOffset : 0
        if (from >= size) continue
        const { file } = yield* this.#segment(segmentSeq)
        const ended = yield* scanSegment(file, path, from, size, (bytes, found, byteOffset) => {
          if (isDone()) return "written after the store was opened"
          const wrong = follows(head, segmentSeq, found.frame)
          if (wrong !== undefined) return wrong
          head = headOf(found.frame, chainHash(bytes.subarray(found.start, found.end)))
          rows.push(OffsetRow.ofFrame(found.frame, byteOffset, found.end - found.start))
          return undefined
        })
        if (ended.damage !== undefined) {
          trailing = new StoreDamaged({ path, byteOffset: ended.offset, reason: ended.damage })
        }
      }
      // The manifest's head was acknowledged, and so was what has been read before; more may be there.
      const promised = Math.max(frameCount ?? 0, (this.manifest?.head?.entry_seq ?? -1) + 1)
      const count = (head?.entry_seq ?? -1) + 1
      if (count >= promised) return { rows, head, trailing }
      return yield* new StoreDamaged({
        path: trailing?.path ?? this.layout.segments,
        byteOffset: trailing?.byteOffset ?? 0,
        reason: `entry ${count} and those after it are not whole any more: ${trailing?.reason ?? "the segments end before it"}`,
        invariant: "INV-005"
      })
    }
  )
}

const isFrameOf = (row: OffsetRow.OffsetRow, { frame, start, end }: FoundFrame): boolean =>
  frame.entry_seq === row.entry_seq &&
  frame.entry_id === row.entry_id &&
  frame.parent_entry_id === row.parent_entry_id &&
  frame.entry_type === row.entry_type &&
  frame.segment_seq === row.segment_seq &&
  frame.frame_seq === row.frame_seq &&
  end - start === row.byte_length

/** The last whole row of an index file, looking back from its end over lines that are none. */
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
    // A row longer than the block: no newline in it, or only the one that ends it.
    if (from > 0 && (skipped === 0 || skipped === bytes.length)) block *= 4
    else end = from + skipped
  }
  return undefined
})

/** Opens a view for the length of the scope. */
export const openView = Effect.fn("StoreView.open")(function* (
  layout: StoreLayout
): Effect.fn.Return<
  StoreView,
  StoreNotFound | StoreIoError | StoreDamaged,
  FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  if (Option.isNone(yield* sizeOf(layout.container))) return yield* new StoreNotFound({ path: layout.container })
  // Held open, so that no other directory can have its identity.
  const directory = yield* held(layout.container)
  const identity = yield* FileIdentity.ofFile(directory.file, layout.container)
  const decoded = Option.flatMap(yield* readWhole(layout.manifest), (bytes) =>
    Result.getSuccess(Manifest.decode(bytes))
  )
  const manifest = Option.getOrUndefined(decoded)
  // What may be half-written is listed before what it is made from, so that a live writer is only ever ahead.
  const indexBytes = yield* sizeOf(layout.offsets)
  const offsets = Option.isNone(indexBytes) ? undefined : yield* held(layout.offsets)
  const segmentSeqs = (yield* listNames(layout.segments)).flatMap((name) => numberOf(name, ".seg") ?? [])
  const container: Container = { layout, identity, manifest, segmentSeqs }
  const last =
    offsets === undefined
      ? undefined
      : yield* lastRow(
          offsets.file,
          offsets.path,
          Option.getOrElse(indexBytes, () => 0)
        )
  if (offsets !== undefined && last !== undefined) {
    const index = new IndexFile(offsets.file, offsets.path, last.end, last.row.entry_seq + 1)
    const view = yield* scoped(new StoreView(container, index))
    // A row is written after its frame was acknowledged: a history that ends before it is not the session.
    const [frame] = yield* view.frames([last.row])
    if (frame !== undefined) {
      const { bytes, found } = frame
      const head = headOf(found.frame, chainHash(bytes.subarray(found.start, found.end)))
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

/** As `openView`, of a container that must be there: it is being written to. */
export const openPresent = (layout: StoreLayout) =>
  openView(layout).pipe(
    Effect.catchTag("StoreNotFound", ({ path }) =>
      Effect.fail(new StoreIoError({ path, operation: "read", reason: "the container is not there any more" }))
    )
  )
