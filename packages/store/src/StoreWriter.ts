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
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { type HeaderLine, type SessionEntry } from "@pi-sessions/core/SessionLine"
import type * as Checkpoint from "./wire/Checkpoint.ts"
import type * as Manifest from "./wire/Manifest.ts"
import { type FrameInput } from "./wire/SegmentFrame.ts"
import { EntryRefused, type StoreDamaged, type StoreFailed, StoreIoError } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import * as StoreRecovery from "./recover/StoreRecovery.ts"
import { type IllegalTransition, type StoreState } from "./StoreState.ts"
import { type Head } from "./wire/WireField.ts"
import { AppendGroup, type Appended } from "./write/AppendGroup.ts"
import { AppendLog } from "./files/AppendLog.ts"
import { IndexLog } from "./write/IndexLog.ts"
import { type StoreView, openPresent } from "./read/StoreView.ts"
import { sizeOf } from "./files/durable.ts"
import * as CheckpointFold from "./write/checkpointFold.ts"
import { framesOf } from "./wire/frameLink.ts"
import { revised, stepped, writeManifest } from "./files/manifestFile.ts"
import { sealedAt } from "./wire/sealing.ts"

export type { Appended } from "./write/AppendGroup.ts"
export type AppendError = EntryRefused | WriteError
export type WriteError = StoreIoError | StoreDamaged | StoreFailed

export interface WriterOptions {
  /** A segment that has reached this size is sealed before the next append; 16 MiB by default. */
  readonly segmentBytes?: number
}

/** The size of segments unless told otherwise, in bytes. */
export const SEGMENT_BYTES = 16 << 20
/** So many bytes of lines are written and synced at a time. */
const PIECE_BYTES = 4 << 20

interface Request {
  readonly inputs: ReadonlyArray<FrameInput>
  outcome: Exit.Exit<ReadonlyArray<Appended>, AppendError> | undefined
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
  #index: IndexLog
  #closed = false
  #waiting: Array<Request> = []
  #manifest: Manifest.Manifest
  /** A manifest whose writing failed half-way: it may be the one on disk, so it must be finished before anything else. */
  #unfinished: Manifest.Manifest | undefined
  #head: Head | undefined
  #segment: { readonly log: AppendLog; readonly segmentSeq: number; readonly firstEntrySeq: number } | undefined

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
    const row_count = recovered.head === undefined ? 0 : recovered.head.entry_seq + 1
    this.#index = new IndexLog(path, layout.offsets, { byte_length: recovered.indexBytes, row_count })
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
    return entryId !== "" && (this.#seqById.get(entryId) ?? 0) > 0
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
      yield* this.#alone(Effect.suspend(() => (request.outcome === undefined ? this.#commit() : Effect.void))).pipe(
        // One that still waits is not written after its caller has gone, or the writer is closed.
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (Exit.isFailure(exit)) this.#waiting = this.#waiting.filter((waiting) => waiting !== request)
          })
        )
      )
      return yield* request.outcome ?? Effect.die(new Error("an append that was neither written nor refused"))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Seals what was appended, completes the index and writes a checkpoint: opening needs no scan then. */
  readonly checkpoint = Effect.fn("StoreWriter.checkpoint")(
    { self: this },
    function* (this: StoreWriter): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.#alone(Effect.suspend(() => this.#settle("CHECKPOINTED")))
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
        yield* this.#put(yield* revised(this.#manifest, { index: this.#index.extent }))
        const checkpoint = yield* this.#foldCheckpoint()
        if (checkpoint === undefined) return
        yield* CheckpointFold.put(this.layout, checkpoint)
        yield* this.#put(yield* revised(this.#manifest, { checkpoint_seq: checkpoint.checkpoint_seq }))
      })
      yield* this.#alone(complete)
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Writes the index rows that wait, once what is under way is done. Whoever still has the writer is refused then. */
  readonly close = this.#turn.withPermits(1)(
    Effect.uninterruptible(
      Effect.suspend(() => {
        this.#closed = true
        return Effect.ignore(this.#index.flush()).pipe(
          Effect.andThen(Effect.ignore(this.#index.close)),
          Effect.andThen(this.#segment === undefined ? Effect.void : Effect.ignore(this.#segment.log.close)),
          Effect.provideContext(this.#services)
        )
      })
    )
  )

  /** Does something while nobody else does, as long as the writer is open: its lock ends with it. */
  #alone<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreIoError, R> {
    const open = Effect.suspend((): Effect.Effect<A, E | StoreIoError, R> =>
      this.#closed ? Effect.fail(this.#closedError()) : work
    )
    return this.#turn.withPermits(1)(Effect.uninterruptible(open))
  }

  #closedError(): StoreIoError {
    const path = this.layout.container
    return new StoreIoError({ path, operation: "write", reason: "this writer is closed; open another one" })
  }

  /** Commits the requests that wait, as one group. */
  readonly #commit = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    never,
    Needs
  > {
    const group = this.#waiting
    this.#waiting = []
    const done = yield* Effect.exit(Effect.scoped(this.#writeGroup(group)))
    if (Exit.isFailure(done)) {
      for (const request of group) request.outcome ??= Exit.failCause(done.cause)
      return
    }
    if (this.#index.isFull) yield* Effect.ignore(this.#index.write())
  })

  readonly #writeGroup = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreWriter,
      group: ReadonlyArray<Request>
    ): Effect.fn.Return<void, WriteError, Needs | Scope.Scope> {
      yield* this.#finish()
      // For entries that are there already: opened once for all of them, when there is one.
      const view = yield* Effect.cached(Effect.suspend(() => openPresent(this.layout)))
      const accepted: Array<{ readonly request: Request; readonly appended: ReadonlyArray<Appended> }> = []
      const entries = new AppendGroup({
        path: this.layout.container,
        nextSeq: this.#head === undefined ? 0 : this.#head.entry_seq + 1,
        seqById: this.#seqById,
        payloadAt: (entrySeq) => Effect.flatMap(view, (view) => payloadAt(view, entrySeq))
      })
      for (const request of group) {
        const result = yield* Effect.result(entries.add(request.inputs))
        if (Result.isSuccess(result)) accepted.push({ request, appended: result.success })
        else request.outcome = Exit.fail(result.failure)
      }
      if (entries.inputs.length > 0) yield* this.#writeFrames(entries.inputs)
      for (const { request, appended } of accepted) request.outcome = Exit.succeed(appended)
    }
  )

  /** Writes a group in pieces, so that no write and no segment grows with the group. */
  readonly #writeFrames = Effect.fnUntraced(
    { self: this },
    function* (this: StoreWriter, inputs: ReadonlyArray<FrameInput>): Effect.fn.Return<void, WriteError, Needs> {
      const limit = Math.min(this.#segmentBytes, PIECE_BYTES)
      let from = 0
      let size = 0
      for (let at = 0; at < inputs.length; at++) {
        size += inputs[at]!.payload.length
        if (size < limit && at + 1 < inputs.length) continue
        yield* this.#writePiece(inputs.slice(from, at + 1))
        from = at + 1
        size = 0
      }
    }
  )

  readonly #writePiece = Effect.fnUntraced(
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
      const { frames, head, rows } = framesOf(inputs, segment.segmentSeq, segment.log.length, this.#head)
      yield* segment.log.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames)).pipe(
        Effect.andThen(Effect.suspend(() => segment.log.commit())),
        Effect.tapCause(() =>
          Effect.andThen(
            Effect.sync(() => segment.log.rewind()),
            segment.log.tidy
          )
        )
      )
      this.#head = head
      for (const row of rows) this.#seqById.set(row.entry_id, row.entry_seq)
      this.#index.add(rows)
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
            yield* this.#step("SEGMENT_SEALED", this.#sealed())
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

  /** What the manifest says once the open segment is sealed. An empty one stays open. */
  #sealed(): Partial<Manifest.Manifest> {
    const head = this.#head
    const segment = this.#segment
    if (head === undefined) return {}
    const counted = { head, entry_count: head.entry_seq }
    if (segment === undefined || segment.log.length === 0) return counted
    const sealed = sealedAt(head, segment.firstEntrySeq, segment.log.durableLength)
    return { ...counted, segments: [...this.#manifest.segments, sealed] }
  }

  readonly #completeIndex = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    yield* this.#flushIndex()
    // Recovery, where it was needed, has taken this step.
    if (this.state === "INDEXED") return
    yield* this.#step("INDEXED", { index: this.#index.extent })
  })

  /** Writes and syncs the rows that wait. An index that somebody removed or replaced is made again, as recovery does it. */
  readonly #flushIndex = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    const flushed = yield* Effect.result(this.#index.flush())
    if (Result.isSuccess(flushed)) return
    const isThere = Option.isSome(yield* sizeOf(this.layout.offsets))
    if (isThere && !this.#index.isLost) return yield* flushed.failure
    yield* Effect.ignore(this.#index.close)
    const { head, indexBytes, manifest } = yield* StoreRecovery.recover(this.layout, this.#manifest.session_id)
    this.#manifest = manifest
    const row_count = head === undefined ? 0 : head.entry_seq + 1
    this.#index = new IndexLog(this.#path, this.layout.offsets, { byte_length: indexBytes, row_count })
    yield* this.#index.flush()
  })

  readonly #writeCheckpoint = Effect.fnUntraced({ self: this }, function* (this: StoreWriter): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    const checkpoint = yield* this.#foldCheckpoint()
    if (checkpoint !== undefined) yield* CheckpointFold.put(this.layout, checkpoint)
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
    return yield* Effect.scoped(CheckpointFold.fold(this.layout, this.#manifest, head))
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
}

const payloadAt = Effect.fnUntraced(function* (view: StoreView, entrySeq: number) {
  const [frame] = yield* view.frames(yield* view.rows(entrySeq, entrySeq + 1))
  return frame === undefined
    ? new Uint8Array(0)
    : frame.bytes.subarray(frame.found.payloadStart, frame.found.payloadEnd)
})

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
