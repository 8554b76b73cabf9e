/**
 * Appending to a store. An append is acknowledged when its frames are on disk: segment written and synced, and the
 * segment's name too when it is new. Appends that come while one is under way share the next write and sync (group
 * commit). Index rows follow and can be made again; segments are sealed by size, each with a checkpoint.
 *
 * A failed append leaves nothing behind that a later one could fuse with, and the next one simply tries again. Retrying
 * an entry that is there already acknowledges it and writes nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { type HeaderLine, type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as ActivePath from "./ActivePath.ts"
import * as Checkpoint from "./Checkpoint.ts"
import type * as Manifest from "./Manifest.ts"
import * as OffsetRow from "./OffsetRow.ts"
import { GENESIS, chainHash, encode, isShort } from "./SegmentFrame.ts"
import {
  EntryRefused,
  type StoreDamaged,
  type StoreFailed,
  type StoreIoError,
  type StoreNotFound
} from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import { entriesOf, newestCheckpoint } from "./StoreReader.ts"
import * as StoreRecovery from "./StoreRecovery.ts"
import { type IllegalTransition, type StoreState } from "./StoreState.ts"
import { type Head } from "./WireField.ts"
import { AppendLog } from "./internal/AppendLog.ts"
import { openView } from "./internal/StoreView.ts"
import { replaceFile } from "./internal/durable.ts"
import { headOf } from "./internal/frameLink.ts"
import { nowInstant, revised, stepped, writeManifest } from "./internal/manifestFile.ts"

/** Where an appended entry stands. */
export interface Appended {
  readonly entryId: string
  /** From 1. */
  readonly entrySeq: number
  /** Whether this call wrote it; false when it was there already. */
  readonly written: boolean
}

export type AppendError = EntryRefused | WriteError
export type WriteError = StoreIoError | StoreDamaged | StoreFailed

/** One line of a session on its way into a frame. */
export interface FrameInput {
  readonly entryId: string
  readonly parentId: string | null
  readonly entryType: string
  /** The line without its newline. */
  readonly payload: Uint8Array
  readonly unterminated?: true
}

export interface WriterOptions {
  /** A segment that has reached this size is sealed before the next append; 16 MiB by default. */
  readonly segmentBytes?: number
}

export const SEGMENT_BYTES = 16 << 20
/** Index rows are written when so many bytes of them wait; until then they are only in memory. */
const INDEX_BYTES = 1 << 16

interface Request {
  readonly inputs: ReadonlyArray<FrameInput>
  outcome: Result.Result<ReadonlyArray<Appended>, AppendError> | undefined
}

type Needs = FileSystem.FileSystem | Path.Path

export class StoreWriter {
  readonly layout: StoreLayout
  /** What opening mended, in words. */
  readonly repairs: ReadonlyArray<string>
  readonly #path: Path.Path
  readonly #services: Context.Context<Needs>
  readonly #segmentBytes: number
  readonly #turn = Semaphore.makeUnsafe(1)
  readonly #seqById: Map<string, number>
  readonly #index: AppendLog
  #waiting: Array<Request> = []
  #manifest: Manifest.Manifest
  /** A manifest whose writing failed half-way: it may be the one on disk, so it must be finished before anything else. */
  #unfinished: Manifest.Manifest | undefined
  #head: Head | undefined
  #segment: { readonly log: AppendLog; readonly segmentSeq: number; readonly firstEntrySeq: number } | undefined
  /** Rows of durable frames that the index does not durably hold yet, in order; the first `#rowsWritten` are written. */
  #rows: Array<OffsetRow.OffsetRow> = []
  #rowsWritten = 0
  #rowBytes = 0

  constructor(
    services: Context.Context<Needs>,
    layout: StoreLayout,
    recovered: StoreRecovery.Recovered,
    options: WriterOptions
  ) {
    const path = Context.get(services, Path.Path)
    this.layout = layout
    this.repairs = recovered.repairs
    this.#path = path
    this.#services = services
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#seqById = recovered.seqById
    this.#manifest = recovered.manifest
    this.#head = recovered.head
    this.#index = new AppendLog(path, layout.offsets, recovered.indexBytes, recovered.indexBytes === 0)
    const open = recovered.openSegment
    if (open !== undefined) {
      const log = new AppendLog(path, layout.segment(open.segmentSeq), open.byteLength, false)
      this.#segment = { log, segmentSeq: open.segmentSeq, firstEntrySeq: open.firstEntrySeq }
    }
  }

  get state(): StoreState {
    return this.#manifest.state
  }

  get manifest(): Manifest.Manifest {
    return this.#manifest
  }

  /** The last acknowledged frame. */
  get head(): Head | undefined {
    return this.#head
  }

  /** Without the session's header. */
  get entryCount(): number {
    return this.#head?.entry_seq ?? 0
  }

  /** Whether the session has an entry of this id. */
  has(entryId: string): boolean {
    return (this.#seqById.get(entryId) ?? 0) > 0
  }

  /** Appends one entry. It is durable when this succeeds. */
  readonly append = (entry: SessionEntry): Effect.Effect<Appended, AppendError> =>
    Effect.map(this.appendAll([entry]), (appended) => appended[0]!)

  /**
   * Appends entries in order, all of them or, when one is refused, none. A power loss before the acknowledgement may
   * leave the first few of them.
   */
  readonly appendAll = Effect.fn("StoreWriter.appendAll")(
    { self: this },
    function* (
      this: StoreWriter,
      entries: ReadonlyArray<SessionEntry>
    ): Effect.fn.Return<ReadonlyArray<Appended>, AppendError, Needs> {
      const inputs: Array<FrameInput> = []
      for (const entry of entries) {
        const { id, parentId, type } = entry
        const path = this.layout.container
        if (id === null || id === "" || type === "session") {
          return yield* new EntryRefused({ path, entryId: id ?? "", why: "no-id" })
        }
        const payload = entry.bytes
        if (payload.includes(0x0a)) return yield* new EntryRefused({ path, entryId: id, why: "several-lines" })
        inputs.push({ entryId: id, parentId, entryType: type, payload })
      }
      return yield* this.appendLines(inputs)
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Starts the session: the first frame holds its header. */
  readonly appendHeader = (header: HeaderLine, sessionId: string): Effect.Effect<void, AppendError> =>
    Effect.asVoid(
      this.appendLines([{ entryId: sessionId, parentId: null, entryType: "session", payload: header.bytes }])
    )

  /** As `appendAll`, of lines as a session file has them: header first, blank lines kept beside their entries. */
  readonly appendLines = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreWriter,
      inputs: ReadonlyArray<FrameInput>
    ): Effect.fn.Return<ReadonlyArray<Appended>, AppendError, Needs> {
      if (inputs.length === 0) return []
      const request: Request = { inputs, outcome: undefined }
      this.#waiting.push(request)
      // Who gets the turn commits all that wait; the others find theirs done. A write under way cannot be taken back.
      yield* this.#turn
        .withPermits(1)(
          Effect.uninterruptible(Effect.suspend(() => (request.outcome === undefined ? this.#commit() : Effect.void)))
        )
        .pipe(
          // One that still waits is not written after its caller has gone.
          Effect.onInterrupt(() =>
            Effect.sync(() => (this.#waiting = this.#waiting.filter((waiting) => waiting !== request)))
          )
        )
      return yield* Effect.fromResult(request.outcome ?? Result.succeed([]))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Seals what was appended, completes the index and writes a checkpoint: opening needs no scan then. */
  readonly checkpoint = Effect.fn("StoreWriter.checkpoint")(
    { self: this },
    function* (this: StoreWriter): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.#turn.withPermits(1)(Effect.uninterruptible(Effect.suspend(() => this.#settle("CHECKPOINTED"))))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Ends the building of a staging container: all sealed and indexed, with a checkpoint. Its state stays. */
  readonly completeStaging = Effect.fn("StoreWriter.completeStaging")(
    { self: this },
    function* (this: StoreWriter): Effect.fn.Return<void, WriteError, Needs> {
      const complete = Effect.gen({ self: this }, function* () {
        yield* this.#finish()
        yield* this.#put(yield* revised(this.#manifest, this.#sealed()))
        yield* this.#flushIndex()
        yield* this.#put(yield* revised(this.#manifest, { index: this.#indexExtent() }))
        const checkpoint = yield* this.#foldCheckpoint()
        if (checkpoint === undefined) return
        yield* putCheckpoint(this.#path, this.layout, checkpoint)
        yield* this.#put(yield* revised(this.#manifest, { checkpoint_seq: checkpoint.checkpoint_seq }))
      })
      yield* this.#turn.withPermits(1)(Effect.uninterruptible(complete))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Steps to a state that a migration or a rollback asks for. */
  readonly step = (to: StoreState, changes: Partial<Manifest.Manifest> = {}) =>
    this.#turn
      .withPermits(1)(
        Effect.uninterruptible(Effect.suspend(() => Effect.andThen(this.#finish(), this.#step(to, changes))))
      )
      .pipe(Effect.provideContext(this.#services))

  /** Writes the index rows that wait. The writer is not usable afterwards. */
  readonly close = Effect.suspend(() =>
    Effect.ignore(this.#flushIndex()).pipe(
      Effect.andThen(Effect.ignore(this.#index.close)),
      Effect.andThen(this.#segment === undefined ? Effect.void : Effect.ignore(this.#segment.log.close)),
      Effect.provideContext(this.#services)
    )
  )

  /** Commits the requests that wait, as one group. */
  readonly #commit = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    never,
    Needs
  > {
    const group = this.#waiting
    this.#waiting = []
    const settled = yield* Effect.result(this.#writeGroup(group))
    if (Result.isFailure(settled)) {
      for (const request of group) request.outcome ??= Result.fail(settled.failure)
      return
    }
    if (this.#rowBytes >= INDEX_BYTES) yield* Effect.ignore(this.#writeIndex())
  })

  readonly #writeGroup = Effect.fnUntraced(
    { self: this },
    function* (this: StoreWriter, group: ReadonlyArray<Request>): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.#finish()
      const accepted: Array<{ readonly request: Request; readonly appended: ReadonlyArray<Appended> }> = []
      const inputs: Array<FrameInput> = []
      /** Of the frames of this group, which are not in the store yet. */
      const added = new Map<string, number>()
      for (const request of group) {
        const result = yield* Effect.result(this.#accept(request.inputs, inputs, added))
        if (Result.isSuccess(result)) accepted.push({ request, appended: result.success })
        else request.outcome = Result.fail(result.failure)
      }
      if (inputs.length > 0) yield* this.#writeFrames(inputs)
      for (const { request, appended } of accepted) request.outcome = Result.succeed(appended)
    }
  )

  /** Checks a request against the store and the group so far; adds what is new to the group, or nothing of it. */
  readonly #accept = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreWriter,
      given: ReadonlyArray<FrameInput>,
      inputs: Array<FrameInput>,
      added: Map<string, number>
    ): Effect.fn.Return<ReadonlyArray<Appended>, AppendError, Needs> {
      const path = this.layout.container
      const first = this.#head === undefined ? 0 : this.#head.entry_seq + 1
      const fresh: Array<FrameInput> = []
      const freshSeq = new Map<string, number>()
      const seqOf = (id: string): number | undefined => this.#seqById.get(id) ?? added.get(id) ?? freshSeq.get(id)
      const appended: Array<Appended> = []
      for (const input of given) {
        const { entryId, parentId } = input
        if (first + inputs.length + fresh.length === 0 && input.entryType !== "session") {
          return yield* new EntryRefused({ path, entryId, why: "before-header" })
        }
        if (!isShort(entryId, parentId, input.entryType)) {
          return yield* new EntryRefused({ path, entryId: `${entryId.slice(0, 40)}...`, why: "too-long" })
        }
        const known = seqOf(entryId)
        if (known !== undefined) {
          const there = inputs[known - first]?.payload ?? fresh[known - first - inputs.length]?.payload
          if (!isSamePayload(input.payload, there ?? (yield* this.#payloadAt(known)))) {
            return yield* new EntryRefused({ path, entryId, why: "id-taken" })
          }
          appended.push({ entryId, entrySeq: known, written: false })
          continue
        }
        // The header's frame stands under the session's id, which is no entry.
        if (parentId !== null && (seqOf(parentId) ?? 0) === 0) {
          return yield* new EntryRefused({ path, entryId, why: "unknown-parent", parentId })
        }
        const entrySeq = first + inputs.length + fresh.length
        freshSeq.set(entryId, entrySeq)
        fresh.push(input)
        appended.push({ entryId, entrySeq, written: true })
      }
      inputs.push(...fresh)
      for (const [id, seq] of freshSeq) added.set(id, seq)
      return appended
    }
  )

  readonly #writeFrames = Effect.fnUntraced(
    { self: this },
    function* (this: StoreWriter, inputs: ReadonlyArray<FrameInput>): Effect.fn.Return<void, WriteError, Needs> {
      const isFull = this.#segment !== undefined && this.#segment.log.length >= this.#segmentBytes
      if (this.state === "MIGRATION_STAGING") {
        if (isFull) yield* this.#put(yield* revised(this.#manifest, this.#sealed()))
      } else {
        if (isFull) yield* this.#settle("CHECKPOINTED")
        if (this.state !== "DIRTY") yield* this.#settle("DIRTY")
      }
      const segment = this.#openSegment()
      const frames: Array<Buffer> = []
      const rows: Array<OffsetRow.OffsetRow> = []
      let head = this.#head
      let byteOffset = segment.log.length
      for (const input of inputs) {
        const frame = {
          segment_seq: segment.segmentSeq,
          frame_seq: head?.segment_seq === segment.segmentSeq ? head.frame_seq + 1 : 1,
          entry_seq: head === undefined ? 0 : head.entry_seq + 1,
          entry_id: input.entryId,
          parent_entry_id: input.parentId,
          entry_type: input.entryType,
          ...(input.unterminated === true ? { unterminated: true as const } : {}),
          prev_hash: head?.chain_hash ?? GENESIS
        }
        const bytes = encode(frame, input.payload)
        frames.push(bytes)
        rows.push(OffsetRow.ofFrame(frame, byteOffset, bytes.length))
        byteOffset += bytes.length
        head = headOf(frame, chainHash(bytes))
      }
      yield* segment.log.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames)).pipe(
        Effect.andThen(Effect.suspend(() => segment.log.commit())),
        Effect.tapCause(() => Effect.sync(() => segment.log.rewind()))
      )
      this.#head = head
      for (const row of rows) {
        this.#seqById.set(row.entry_id, row.entry_seq)
        this.#rows.push(row)
      }
      // About as long as a row is; only to decide when to write them.
      this.#rowBytes += rows.length * 240
    }
  )

  #openSegment() {
    if (this.#segment === undefined) {
      const segmentSeq = (this.#manifest.segments.at(-1)?.segment_seq ?? 0) + 1
      const log = new AppendLog(this.#path, this.layout.segment(segmentSeq), 0, true)
      this.#segment = { log, segmentSeq, firstEntrySeq: this.#head === undefined ? 0 : this.#head.entry_seq + 1 }
    }
    return this.#segment
  }

  /** Goes the way that the ADR lists to a state that says the store is whole, or to DIRTY. */
  readonly #settle = Effect.fnUntraced(
    { self: this },
    function* (this: StoreWriter, target: "CHECKPOINTED" | "DIRTY"): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.#finish()
      for (let steps = 0; steps < 8 && this.state !== target; steps++) {
        switch (this.state) {
          case "DIRTY":
            yield* this.#seal()
            break
          case "SEGMENT_SEALED":
            yield* this.#completeIndex()
            break
          case "INDEXED":
            yield* target === "DIRTY" ? this.#step("DIRTY") : this.#writeCheckpoint()
            break
          default:
            yield* this.#step("DIRTY")
        }
      }
    }
  )

  readonly #seal = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    yield* this.#step("SEGMENT_SEALED", this.#sealed())
  })

  /** What the manifest says once the open segment is sealed. An empty one stays open. */
  #sealed(): Partial<Manifest.Manifest> {
    const head = this.#head
    const segment = this.#segment
    if (head === undefined) return {}
    const counted = { head, entry_count: head.entry_seq }
    if (segment === undefined || segment.log.length === 0) return counted
    const sealed: Manifest.SealedSegment = {
      segment_seq: segment.segmentSeq,
      frame_count: head.frame_seq,
      byte_length: segment.log.durableLength,
      first_entry_seq: segment.firstEntrySeq,
      last_entry_seq: head.entry_seq,
      chain_hash: head.chain_hash
    }
    return { ...counted, segments: [...this.#manifest.segments, sealed] }
  }

  readonly #completeIndex = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    yield* this.#flushIndex()
    yield* this.#step("INDEXED", { index: this.#indexExtent() })
  })

  #indexExtent(): Manifest.Manifest["index"] {
    return {
      byte_length: this.#index.durableLength,
      row_count: this.#head === undefined ? 0 : this.#head.entry_seq + 1
    }
  }

  /** Writes the rows that wait; they are not synced. */
  readonly #writeIndex = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    StoreIoError,
    Needs
  > {
    const rows = this.#rows.slice(this.#rowsWritten)
    if (rows.length > 0) yield* this.#index.write(Buffer.from(rows.map((row) => OffsetRow.encodeText(row)).join("")))
    this.#rowsWritten = this.#rows.length
    this.#rowBytes = 0
  })

  /** Writes and syncs them. After a failed sync all rows since the last good one are written again. */
  readonly #flushIndex = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    StoreIoError,
    Needs
  > {
    yield* this.#writeIndex()
    if (this.#head === undefined) return
    yield* Effect.suspend(() => this.#index.commit()).pipe(
      Effect.tapCause(() => Effect.sync(() => (this.#rowsWritten = 0)))
    )
    this.#rows = []
    this.#rowsWritten = 0
  })

  readonly #writeCheckpoint = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    const checkpoint = yield* this.#foldCheckpoint()
    if (checkpoint !== undefined) yield* putCheckpoint(this.#path, this.layout, checkpoint)
    yield* this.#step("CHECKPOINTED", {
      checkpoint_seq: checkpoint?.checkpoint_seq ?? this.#manifest.checkpoint_seq
    })
  })

  /** The checkpoint of the head as the manifest has it; undefined in a store without frames. */
  readonly #foldCheckpoint = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    Checkpoint.Checkpoint | undefined,
    WriteError,
    Needs
  > {
    const head = this.#head
    if (head === undefined) return undefined
    return yield* Effect.scoped(fold(this.layout, this.#manifest, head))
  })

  /** Finishes a manifest whose writing failed half-way. */
  #finish(): Effect.Effect<void, StoreIoError, Needs> {
    const unfinished = this.#unfinished
    return unfinished === undefined ? Effect.void : this.#put(unfinished)
  }

  readonly #step = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreWriter,
      to: StoreState,
      changes: Partial<Manifest.Manifest> = {}
    ): Effect.fn.Return<void, StoreIoError, Needs> {
      const next = yield* stepped(this.#manifest, to, changes).pipe(
        Effect.catchTag("IllegalTransition", (error: IllegalTransition) => Effect.die(error))
      )
      yield* this.#put(next)
    }
  )

  readonly #put = Effect.fnUntraced(
    { self: this },
    function* (this: StoreWriter, manifest: Manifest.Manifest): Effect.fn.Return<void, StoreIoError, Needs> {
      this.#unfinished = manifest
      yield* writeManifest(this.layout, manifest)
      this.#manifest = manifest
      this.#unfinished = undefined
      const segment = this.#segment
      if (segment !== undefined && segment.segmentSeq === manifest.segments.at(-1)?.segment_seq) {
        this.#segment = undefined
        yield* Effect.ignore(segment.log.close)
      }
    }
  )

  /** The payload of an entry that is in the store. */
  readonly #payloadAt = Effect.fnUntraced(
    { self: this },
    function* (this: StoreWriter, entrySeq: number): Effect.fn.Return<Uint8Array, WriteError, Needs> {
      return yield* Effect.scoped(
        Effect.gen({ self: this }, function* () {
          const view = yield* openView(this.layout).pipe(Effect.catchTag("StoreNotFound", (e) => Effect.die(e)))
          const [frame] = yield* view.frames(yield* view.rows(entrySeq, entrySeq + 1))
          return frame === undefined
            ? new Uint8Array(0)
            : frame.bytes.subarray(frame.found.payloadStart, frame.found.payloadEnd)
        })
      )
    }
  )
}

/** Whether two lines are the same but for blank lines around them. */
const isSamePayload = (a: Uint8Array, b: Uint8Array): boolean => {
  const left = Buffer.from(a.buffer, a.byteOffset, a.byteLength)
  const right = Buffer.from(b.buffer, b.byteOffset, b.byteLength)
  return left.equals(right) || left.toString("latin1").trim() === right.toString("latin1").trim()
}

/** Folds the history up to `head` into a checkpoint. */
const fold = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  head: Head
): Effect.fn.Return<Checkpoint.Checkpoint, WriteError, Needs | Scope.Scope> {
  const view = yield* openView(layout).pipe(
    Effect.catchTag("StoreNotFound", (error: StoreNotFound) => Effect.die(error))
  )
  const previous = yield* newestCheckpoint(view)
  const leaf = head.entry_seq === 0 ? undefined : yield* view.row(head.entry_seq)
  const read = (rows: ReadonlyArray<OffsetRow.OffsetRow>) => Effect.map(view.frames(rows), entriesOf)
  const active = leaf === undefined ? undefined : yield* ActivePath.resolve(view, leaf, previous, read)
  const ref = (row: OffsetRow.OffsetRow | undefined): Checkpoint.EntryRef | null =>
    row === undefined ? null : { entry_seq: row.entry_seq, entry_id: row.entry_id }
  return {
    schema: Checkpoint.SCHEMA_ID,
    session_id: manifest.session_id,
    checkpoint_seq: Math.max(manifest.checkpoint_seq ?? 0, previous?.checkpoint_seq ?? 0) + 1,
    created_at: yield* nowInstant,
    manifest_revision: manifest.revision,
    head,
    entry_count: head.entry_seq,
    index: manifest.index,
    active_context: {
      leaf: ref(leaf),
      thinking_level: ref(active?.thinkingLevel),
      model: ref(active?.model),
      compaction: ref(active?.compaction)
    }
  }
})

const putCheckpoint = (path: Path.Path, layout: StoreLayout, checkpoint: Checkpoint.Checkpoint) =>
  replaceFile(
    path.join(layout.tmp, "checkpoint.json"),
    layout.checkpoint(checkpoint.checkpoint_seq),
    Checkpoint.encode(checkpoint)
  )

/** Recovers a container and opens it for appending until the scope closes. Only under the writer's lock. */
export const open = Effect.fn("StoreWriter.open")(function* (
  layout: StoreLayout,
  sessionId: string,
  options: WriterOptions = {}
): Effect.fn.Return<StoreWriter, StoreRecovery.RecoveryError, Needs | Scope.Scope> {
  const services = yield* Effect.map(Effect.context<Needs>(), Context.pick(FileSystem.FileSystem, Path.Path))
  const recovered = yield* StoreRecovery.recover(layout, sessionId)
  return yield* Effect.acquireRelease(
    Effect.sync(() => new StoreWriter(services, layout, recovered, options)),
    (writer) => writer.close
  )
})
