/**
 * A session in a store, opened for reading. Entries are `SessionEntry` values, as from a session file. Their `line` is
 * `entry_seq + 1` unless there are blank lines, and their `byteOffset` counts from the first entry of the same read. Every
 * frame is checked before its entry is returned.
 *
 * A reader takes no lock, never waits for a writer and never repairs. It sees the session as it was when opened, neither
 * longer nor shorter; bytes damaged since then are StoreDamaged. Fibers may share a reader; their reads take turns.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as EntryId from "@pi-sessions/core/EntryId"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as ActivePath from "./read/activePath.ts"
import type * as Checkpoint from "./wire/Checkpoint.ts"
import { type OffsetRow } from "./wire/OffsetRow.ts"
import { EntryNotFound, StoreDamaged, type StoreIoError, type StoreNotFound } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import { type StoreState } from "./StoreState.ts"
import { type Head } from "./wire/WireField.ts"
import { type LoadedFrame, type StoreView } from "./read/StoreView.ts"
import { openView } from "./read/openView.ts"
import * as Checkpoints from "./read/checkpointFiles.ts"

export type ReadError = StoreIoError | StoreDamaged

/** Maximal number and bytes of entries that are read together; a longer entry is read alone. */
const BATCH = 512
const BATCH_BYTES = 4 << 20

/** An open session; made by `open`, valid until its scope closes. */
export class StoreReader {
  readonly #view: StoreView
  /** Branches are computed from the whole session; see `links_in_lines` of `SegmentFrame`. */
  readonly #isInLines: boolean
  readonly #services: Context.Context<FileSystem.FileSystem>
  /** The session's header line. */
  readonly header: HeaderLine
  /** The newest sound checkpoint of this store's history. */
  readonly checkpoint: Checkpoint.Checkpoint | undefined

  constructor(
    view: StoreView,
    { header, isInLines }: FirstFrame,
    checkpoint: Checkpoint.Checkpoint | undefined,
    services: Context.Context<FileSystem.FileSystem>
  ) {
    this.#view = view
    this.#services = services
    this.#isInLines = isInLines
    this.header = header
    this.checkpoint = checkpoint
  }

  /** Paths of the container's files. */
  get layout(): StoreLayout {
    return this.#view.layout
  }

  /** Undefined when the manifest is missing or damaged. */
  get state(): StoreState | undefined {
    return this.#view.manifest?.state
  }

  /** The last frame. */
  get head(): Head | undefined {
    return this.#view.head
  }

  /** Without the header. */
  get entryCount(): number {
    return this.#view.frameCount - 1
  }

  /** Bytes after the head that are not a whole frame: of an append in progress, or torn. */
  get trailing(): StoreDamaged | undefined {
    return this.#view.trailing
  }

  /** The entry at a position, from 1. */
  readonly entry = Effect.fn("StoreReader.entry")(
    { self: this },
    function* (
      this: StoreReader,
      entrySeq: number
    ): Effect.fn.Return<SessionEntry, ReadError | EntryNotFound, FileSystem.FileSystem> {
      const known = Number.isInteger(entrySeq) && entrySeq >= 1 && entrySeq <= this.entryCount
      const [entry] = known ? yield* this.#entries(yield* this.#view.rows(entrySeq, entrySeq + 1)) : []
      return entry ?? (yield* new EntryNotFound({ path: this.layout.container, entry: `at position ${entrySeq}` }))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** The entry with an id. */
  readonly entryById = Effect.fn("StoreReader.entryById")(
    { self: this },
    function* (
      this: StoreReader,
      entryId: string
    ): Effect.fn.Return<SessionEntry, ReadError | EntryNotFound, FileSystem.FileSystem> {
      const row = this.#isInLines ? undefined : yield* this.#view.find(entryId)
      const inLines = this.#isInLines ? (yield* this.session).tree.getEntry(entryId) : undefined
      const [entry] = row === undefined || row.entry_seq === 0 ? [inLines] : yield* this.#entries([row])
      return entry ?? (yield* new EntryNotFound({ path: this.layout.container, entry: entryId }))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Entries `from` to `to`, both included, positions from 1. Positions outside the session are ignored. */
  readonly range = (from: number, to: number): Stream.Stream<SessionEntry, ReadError> =>
    Stream.paginate(Math.max(1, from), (start) =>
      Effect.gen({ self: this }, function* () {
        const last = Math.min(to, this.entryCount)
        const rows = start <= last ? yield* this.#batch(start, last + 1) : []
        const end = start + rows.length
        return [yield* this.#entries(rows), rows.length > 0 && end <= last ? Option.some(end) : Option.none()] as const
      })
    ).pipe(Stream.provideContext(this.#services))

  /** The last `count` entries, in file order. */
  readonly last = Effect.fn("StoreReader.last")(
    { self: this },
    function* (
      this: StoreReader,
      count: number
    ): Effect.fn.Return<ReadonlyArray<SessionEntry>, ReadError, FileSystem.FileSystem> {
      const end = this.#view.frameCount
      return yield* this.#entries(yield* this.#view.rows(Math.max(1, end - count), end))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** The branch that ends at an entry, from the root on. Default: the last entry. */
  readonly path: (leafId?: string) => Effect.Effect<ReadonlyArray<SessionEntry>, ReadError | EntryNotFound> = Effect.fn(
    "StoreReader.path"
  )(
    { self: this },
    function* (
      this: StoreReader,
      leafId?: string
    ): Effect.fn.Return<ReadonlyArray<SessionEntry>, ReadError | EntryNotFound, FileSystem.FileSystem> {
      if (this.#isInLines) return (yield* this.#treeAt(leafId)).getBranch()
      const leaf = yield* this.#leaf(leafId)
      if (leaf === undefined) return []
      const rows: Array<OffsetRow> = []
      yield* ActivePath.walk(this.#view, leaf, (row) => {
        rows.push(row)
        return true
      })
      return yield* this.#entries(rows.reverse())
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /**
   * The context at an entry, as core's SessionContext builds it from the whole session. Default: the last entry. With a
   * checkpoint and a compaction near the end, reads only what is after the compaction.
   */
  readonly context: (options?: {
    readonly leafId?: string
    readonly profile?: PiProfile
  }) => Effect.Effect<SessionContext.SessionContext, ReadError | EntryNotFound> = Effect.fn("StoreReader.context")(
    { self: this },
    function* (
      this: StoreReader,
      options: { readonly leafId?: string; readonly profile?: PiProfile } = {}
    ): Effect.fn.Return<SessionContext.SessionContext, ReadError | EntryNotFound, FileSystem.FileSystem> {
      if (this.#isInLines) return SessionContext.build(yield* this.#treeAt(options.leafId), options.profile)
      const leaf = yield* this.#leaf(options.leafId)
      if (leaf === undefined) return { messages: [], ...SessionContext.settings([]) }
      const read = (rows: ReadonlyArray<OffsetRow>) => this.#entries(rows)
      const active = yield* ActivePath.resolve(this.#view, leaf, this.checkpoint, read)
      const compaction = active.compaction === undefined ? undefined : (yield* this.#entries([active.compaction]))[0]
      const firstKeptId = compaction === undefined ? null : EntryId.read(compaction.decode()["firstKeptEntryId"])
      // Without a compaction the whole branch; with one, what it keeps and what follows it.
      const rows: Array<OffsetRow> = []
      let keptRows = 0
      yield* ActivePath.walk(this.#view, leaf, (row) => {
        rows.push(row)
        const isBeforeCompaction = active.compaction !== undefined && row.entry_seq < active.compaction.entry_seq
        const isFirstKept = isBeforeCompaction && row.entry_id === firstKeptId
        if (!isBeforeCompaction || isFirstKept) keptRows = rows.length
        return !isFirstKept && (!isBeforeCompaction || firstKeptId !== null)
      })
      const branch = yield* this.#entries(rows.slice(0, keptRows).reverse())
      const settled = yield* this.#entries(
        [yield* ActivePath.levelInForce(this.#view, active, read), active.model].flatMap((row) =>
          row === undefined ? [] : [row]
        )
      )
      const messages = SessionContext.project(branch, options.profile).map((item) => item.message)
      return { messages, ...SessionContext.settings(settled) }
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Every line of the session's file, header first. */
  readonly lines: Stream.Stream<SessionLine, ReadError> = Stream.suspend(() => {
    const reader = new SessionReader()
    return Stream.concat(
      this.payloads.pipe(Stream.map((pieces) => pieces.flatMap((piece) => reader.push(piece)))),
      Stream.sync(() => reader.end())
    ).pipe(Stream.flattenIterable)
  })

  /** The bytes of the session's file in order, in batches of lines. */
  readonly payloads: Stream.Stream<ReadonlyArray<Uint8Array>, ReadError> = Stream.suspend(() =>
    Stream.paginate(0, (start) =>
      Effect.gen({ self: this }, function* () {
        const { frameCount } = this.#view
        const rows = yield* this.#batch(start, frameCount)
        const end = start + rows.length
        const frames = yield* this.#view.frames(rows)
        const pieces = frames.map(({ bytes, found, row }) => {
          const last = row.entry_seq === frameCount - 1
          return bytes.subarray(
            found.payloadStart,
            last && found.frame.unterminated === true ? found.payloadEnd : found.end
          )
        })
        return [[pieces], end < frameCount ? Option.some(end) : Option.none()] as const
      })
    ).pipe(Stream.provideContext(this.#services))
  )

  /** The whole session in memory. */
  readonly session: Effect.Effect<Session.Session, ReadError> = Effect.map(
    Stream.runCollect(this.payloads),
    (batches) => Session.read(batches.flat())
  )

  /** The tree of the whole session with its leaf at an entry. Default: the last entry. */
  readonly #treeAt = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreReader,
      leafId: string | undefined
    ): Effect.fn.Return<SessionTree, ReadError | EntryNotFound> {
      const { tree } = yield* this.session
      const moved = leafId === undefined ? tree : tree.branch(leafId)
      return moved ?? (yield* new EntryNotFound({ path: this.layout.container, entry: leafId ?? "" }))
    }
  )

  /** The next batch of rows from `start` on, before `end`. */
  readonly #batch = Effect.fnUntraced({ self: this }, function* (this: StoreReader, start: number, end: number) {
    const rows = yield* this.#view.rows(start, Math.min(start + BATCH, end))
    let bytes = 0
    const over = rows.findIndex((row) => (bytes += row.byte_length) > BATCH_BYTES)
    return over < 0 ? rows : rows.slice(0, Math.max(1, over))
  })

  readonly #leaf = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreReader,
      leafId: string | undefined
    ): Effect.fn.Return<OffsetRow | undefined, ReadError | EntryNotFound, FileSystem.FileSystem> {
      if (leafId === undefined) {
        return this.entryCount < 1 ? undefined : (yield* this.#view.rows(this.entryCount, this.entryCount + 1))[0]
      }
      const row = yield* this.#view.find(leafId)
      if (row !== undefined && row.entry_seq > 0) return row
      return yield* new EntryNotFound({ path: this.layout.container, entry: leafId })
    }
  )

  readonly #entries = (rows: ReadonlyArray<OffsetRow>) =>
    Effect.map(this.#view.frames(rows), (frames) => entriesOf(frames))
}

/** Contents of the first frame. */
interface FirstFrame {
  readonly header: HeaderLine
  readonly isInLines: boolean
}

/** The entries of frames, one per frame. Other lines in a frame are ignored. */
export const entriesOf = (frames: ReadonlyArray<LoadedFrame>): ReadonlyArray<SessionEntry> => {
  const entries: Array<SessionEntry> = []
  let reader = new SessionReader()
  let expected = -1
  for (const { row, bytes, found } of frames) {
    if (row.entry_seq !== expected) reader = new SessionReader({ firstLine: row.entry_seq + 1 })
    expected = row.entry_seq + 1
    // Includes the newline after the payload, so that it is a whole line.
    const lines = reader.push(bytes.subarray(found.payloadStart, found.end))
    const own = lines.findLast((line) => line instanceof SessionEntry && !line.recovered)
    if (own instanceof SessionEntry) entries.push(own)
  }
  return entries
}

/** Opens a container until the scope closes. */
export const open = Effect.fn("StoreReader.open")(function* (
  layout: StoreLayout
): Effect.fn.Return<StoreReader, ReadError | StoreNotFound, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const view = yield* openView(layout)
  const rows = yield* view.rows(0, 1)
  const [frame] = yield* view.frames(rows)
  const header = frame === undefined ? undefined : headerOf(frame)
  const isInLines = frame?.found.frame.links_in_lines === true
  if (header === undefined) {
    return yield* new StoreDamaged({
      path: layout.segment(1),
      byteOffset: 0,
      reason: view.trailing?.reason ?? "the store holds no session header"
    })
  }
  const sessionId = rows[0]?.entry_id ?? ""
  const services = Context.make(FileSystem.FileSystem, yield* FileSystem.FileSystem)
  return new StoreReader(view, { header, isInLines }, yield* Checkpoints.newest(view, sessionId), services)
})

const headerOf = ({ bytes, found }: LoadedFrame): HeaderLine | undefined => {
  const reader = new SessionReader()
  reader.push(bytes.subarray(found.payloadStart, found.end))
  return reader.header
}
