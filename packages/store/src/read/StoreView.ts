/**
 * The rows and frames of a container, as they were when the view was opened. Nothing is written, so a view may be opened
 * beside a live writer. Fibers may share a view; one reads at a time.
 *
 * Where the index is missing or damaged, rows are made from the segments in memory. When these hold less than the manifest
 * or the index counts, that is damage, never a shorter session.
 *
 * A rollback and a migration may replace the container. Segments are opened when needed, so the container's identity is
 * compared each time, and a view never returns data of another container.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import type * as Manifest from "../wire/Manifest.ts"
import * as OffsetRow from "../wire/OffsetRow.ts"
import { type FoundFrame, decode } from "../wire/SegmentFrame.ts"
import { StoreDamaged, StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { type Head } from "../wire/WireField.ts"
import { type IndexFile } from "./IndexFile.ts"
import { type OpenFile, byteLengthOf, openFile, readAt } from "../files/durable.ts"
import * as FileIdentity from "../files/fileIdentity.ts"
import { follows, headOfFound } from "../wire/frameLink.ts"
import { scanSegment } from "./segmentScan.ts"

/** A verified frame. */
export interface LoadedFrame {
  readonly row: OffsetRow.OffsetRow
  readonly bytes: Buffer
  readonly found: FoundFrame
}

/** Maximal bytes of neighbouring frames that are read together. */
const READ_BYTES = 4 << 20
const OPEN_SEGMENTS_MAX = 8

/** Rows made from the segments. */
interface Scanned {
  readonly rows: Array<OffsetRow.OffsetRow>
  readonly head: Head | undefined
  /** Bytes after the last whole frame; undefined when there are none. */
  readonly trailing: StoreDamaged | undefined
}

/** Facts about a container before its frames are read. */
export interface Container {
  readonly layout: StoreLayout
  readonly identity: FileIdentity.FileIdentity
  readonly manifest: Manifest.Manifest | undefined
  readonly segmentSeqs: ReadonlyArray<number>
}

/** An open container; made by `openView`. */
export class StoreView {
  readonly layout: StoreLayout
  /** Identity of the container's directory, which stays open as long as the view. */
  readonly #identity: FileIdentity.FileIdentity
  /** Undefined when missing or damaged. */
  readonly manifest: Manifest.Manifest | undefined
  readonly segmentSeqs: ReadonlyArray<number>
  #index: IndexFile | undefined
  /** Rows after those of the index file. */
  #rows: Array<OffsetRow.OffsetRow> = []
  #head: Head | undefined
  #trailing: StoreDamaged | undefined
  readonly #segments = new Map<number, OpenFile>()
  /** Held during each read, because rows and open segments may change. Not re-entrant. */
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

  /** Bytes after the head that are not a whole frame. */
  get trailing(): StoreDamaged | undefined {
    return this.#trailing
  }

  /** Number of frames, that of the session's header included. */
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

  /** The row of a position; undefined after the end. */
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

  /** The frames of rows, in order, each checked against its row. */
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
      // Checked after opening: the container was still in place then.
      yield* this.mustBeInPlace().pipe(
        Effect.tapCause(() => {
          this.#segments.delete(segmentSeq)
          return Effect.ignore(opened.close)
        })
      )
      return opened
    },
    // An opened file is always remembered, so that it is closed.
    Effect.uninterruptible
  )

  /** Fails when the container was replaced or removed. */
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

  /** Closes the open segments. */
  readonly close = Effect.suspend(() =>
    Effect.forEach([...this.#segments.values()], (opened) => Effect.ignore(opened.close), { discard: true })
  )

  /** Makes all rows from the segments, exactly as many as the view had. */
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

  /** Adds the frames after a head, or all frames, as far as they are whole and in order. */
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

  /** Reads the frames after a head, up to `frameCount` frames of the store. Fewer are damage. */
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
        const size = yield* byteLengthOf(path)
        const from = segmentSeq === after?.head.segment_seq ? after.byteOffset : 0
        if (from >= size) continue
        const { file } = yield* this.#segment(segmentSeq)
        const ended = yield* scanSegment(file, path, from, size, (bytes, found, byteOffset) => {
          if (isDone()) return "written after the store was opened"
          const wrong = follows(head, segmentSeq, found.frame)
          if (wrong !== undefined) return wrong
          head = headOfFound(bytes, found)
          rows.push(OffsetRow.ofFound(found, byteOffset))
          return undefined
        })
        if (ended.damage !== undefined) {
          trailing = new StoreDamaged({ path, byteOffset: ended.offset, reason: ended.damage })
        }
      }
      // The manifest's head was acknowledged, and so were the frames that the view had.
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
