/**
 * Appending to a store. An append is acknowledged when its frames are on disk: the segment is written and synced, and so
 * is the segment's name when it is new. Appends that arrive during another one share the next write and sync (group
 * commit). Index rows follow later, because they can be rebuilt. Segments are sealed by size, each with a checkpoint.
 *
 * After a failed append the next one can try again: bytes of the failed one are cut off first. Appending an entry that is
 * already in the store acknowledges it and writes nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { type HeaderLine, type SessionEntry } from "@pi-sessions/core/SessionLine"
import { EntryRefused, StoreIoError } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import { type StoreState } from "./StoreState.ts"
import { type StoreView } from "./read/StoreView.ts"
import { openPresent } from "./read/openView.ts"
import * as StoreRecovery from "./recover/StoreRecovery.ts"
import type * as Manifest from "./wire/Manifest.ts"
import { type FrameInput } from "./wire/SegmentFrame.ts"
import { type Head } from "./wire/WireField.ts"
import { AppendGroup, type Appended } from "./write/AppendGroup.ts"
import { OpenContainer, type WriteError } from "./write/OpenContainer.ts"

export type { Appended, WriteError }
export type AppendError = EntryRefused | WriteError

export interface WriterOptions {
  /** A segment of at least so many bytes is sealed before the next append. Default: 16 MiB. */
  readonly segmentBytes?: number
}

/** Default size of segments, in bytes. */
export const SEGMENT_BYTES = 16 << 20

interface Request {
  readonly inputs: ReadonlyArray<FrameInput>
  outcome: Exit.Exit<ReadonlyArray<Appended>, AppendError> | undefined
}

type Needs = FileSystem.FileSystem | Path.Path

export class StoreWriter {
  readonly layout: StoreLayout
  /** Descriptions of what opening repaired; empty for a store that was whole. */
  readonly repairs: ReadonlyArray<string>
  readonly #services: Context.Context<Needs>
  readonly #container: OpenContainer
  readonly #turn = Semaphore.makeUnsafe(1)
  #closed = false
  #waiting: Array<Request> = []

  constructor(
    services: Context.Context<Needs>,
    layout: StoreLayout,
    recovered: StoreRecovery.Recovered,
    { segmentBytes = SEGMENT_BYTES }: WriterOptions
  ) {
    this.layout = layout
    this.repairs = recovered.repairs
    this.#services = services
    this.#container = new OpenContainer(Context.get(services, Path.Path), layout, recovered, segmentBytes)
  }

  get state(): StoreState {
    return this.#container.state
  }

  get manifest(): Manifest.Manifest {
    return this.#container.manifest
  }

  /** The last acknowledged frame. */
  get head(): Head | undefined {
    return this.#container.head
  }

  /** Without the session's header. */
  get entryCount(): number {
    return this.head?.entry_seq ?? 0
  }

  /** Whether the session has an entry of this id. */
  has(entryId: string): boolean {
    return entryId !== "" && (this.#container.seqById.get(entryId) ?? 0) > 0
  }

  /** Appends one entry. It is durable when this succeeds. */
  readonly append = (entry: SessionEntry): Effect.Effect<Appended, AppendError> =>
    Effect.map(this.appendAll([entry]), (appended) => appended[0]!)

  /**
   * Appends entries in order. When one is refused, none is appended. A power cut before the acknowledgement may leave the
   * first few of them.
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

  /** As `appendAll`, for lines of a session file: the header first, blank lines kept with their entries. */
  readonly appendLines = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreWriter,
      inputs: ReadonlyArray<FrameInput>
    ): Effect.fn.Return<ReadonlyArray<Appended>, AppendError, Needs> {
      if (inputs.length === 0) return []
      const request: Request = { inputs, outcome: undefined }
      this.#waiting.push(request)
      // The first request that gets its turn commits all that wait. A write cannot be interrupted.
      yield* this.#exclusively(
        Effect.suspend(() => (request.outcome === undefined ? this.#commit() : Effect.void))
      ).pipe(
        // A request that still waits is dropped when its caller was interrupted or the writer was closed.
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

  /** Seals what was appended, completes the index and writes a checkpoint, so that the next opening needs no scan. */
  readonly checkpoint = Effect.fn("StoreWriter.checkpoint")(
    { self: this },
    function* (this: StoreWriter): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.#exclusively(Effect.suspend(() => this.#container.settle("CHECKPOINTED")))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Completes a staging container: seals, indexes and checkpoints it. Its state does not change. */
  readonly completeStaging = Effect.fn("StoreWriter.completeStaging")(
    { self: this },
    function* (this: StoreWriter): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.#exclusively(Effect.suspend(() => this.#container.completeStaging()))
    },
    (effect) => Effect.provideContext(effect, this.#services)
  )

  /** Writes the index rows that wait, after the current write. Later calls fail. */
  readonly close = this.#turn.withPermits(1)(
    Effect.uninterruptible(
      Effect.suspend(() => {
        this.#closed = true
        return Effect.provideContext(this.#container.close, this.#services)
      })
    )
  )

  /** Runs one effect at a time, while the writer is open: its lock ends with it. */
  #exclusively<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreIoError, R> {
    const whileOpen = Effect.suspend((): Effect.Effect<A, E | StoreIoError, R> => {
      if (!this.#closed) return work
      const path = this.layout.container
      return new StoreIoError({ path, operation: "write", reason: "this writer is closed; open another one" })
    })
    return this.#turn.withPermits(1)(Effect.uninterruptible(whileOpen))
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
    yield* this.#container.writeFullIndex
  })

  readonly #writeGroup = Effect.fnUntraced(
    { self: this },
    function* (
      this: StoreWriter,
      group: ReadonlyArray<Request>
    ): Effect.fn.Return<void, WriteError, Needs | Scope.Scope> {
      yield* this.#container.finishManifest()
      // Opened only when a request repeats an entry, once for all of them.
      const view = yield* Effect.cached(Effect.suspend(() => openPresent(this.layout)))
      const accepted: Array<{ readonly request: Request; readonly appended: ReadonlyArray<Appended> }> = []
      const entries = new AppendGroup({
        path: this.layout.container,
        nextSeq: this.#container.nextSeq,
        seqById: this.#container.seqById,
        payloadAt: (entrySeq) => Effect.flatMap(view, (view) => payloadAt(view, entrySeq))
      })
      for (const request of group) {
        const result = yield* Effect.result(entries.add(request.inputs))
        if (Result.isSuccess(result)) accepted.push({ request, appended: result.success })
        else request.outcome = Exit.fail(result.failure)
      }
      yield* this.#container.append(entries.inputs)
      for (const { request, appended } of accepted) request.outcome = Exit.succeed(appended)
    }
  )
}

const payloadAt = Effect.fnUntraced(function* (view: StoreView, entrySeq: number) {
  const [frame] = yield* view.frames(yield* view.rows(entrySeq, entrySeq + 1))
  return frame === undefined
    ? new Uint8Array(0)
    : frame.bytes.subarray(frame.found.payloadStart, frame.found.payloadEnd)
})

/** Recovers a container and opens it for appending until the scope closes. Requires the writer's lock. */
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
