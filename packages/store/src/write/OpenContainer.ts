/**
 * A container that is open for writing: its open segment, index, manifest and state. One caller at a time: StoreWriter
 * gives each its turn.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import { type StoreDamaged, type StoreFailed, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { type StoreState } from "../StoreState.ts"
import { AppendLog } from "../files/AppendLog.ts"
import { sizeOf } from "../files/durable.ts"
import { revised, stepped, writeManifest } from "../files/manifestFile.ts"
import * as StoreRecovery from "../recover/StoreRecovery.ts"
import type * as Checkpoint from "../wire/Checkpoint.ts"
import type * as Manifest from "../wire/Manifest.ts"
import { type FrameInput } from "../wire/SegmentFrame.ts"
import { type Head } from "../wire/WireField.ts"
import { framesOf } from "../wire/frameLink.ts"
import { sealedAt } from "../wire/sealing.ts"
import { IndexLog } from "./IndexLog.ts"
import * as CheckpointFold from "./checkpointFold.ts"

export type WriteError = StoreIoError | StoreDamaged | StoreFailed

type Needs = FileSystem.FileSystem | Path.Path

/** Bytes of lines that are written and synced at a time. */
const PIECE_BYTES = 4 << 20

export class OpenContainer {
  readonly layout: StoreLayout
  /** Position of each entry by its id; the header is under the session's id. */
  readonly seqById: Map<string, number>
  readonly #path: Path.Path
  readonly #segmentBytes: number
  #index: IndexLog
  #manifest: Manifest.Manifest
  /** A manifest whose writing failed: it may be the one on disk, so it is written again before anything else. */
  #unfinished: Manifest.Manifest | undefined
  #head: Head | undefined
  #segment: { readonly log: AppendLog; readonly segmentSeq: number; readonly firstEntrySeq: number } | undefined

  constructor(path: Path.Path, layout: StoreLayout, recovered: StoreRecovery.Recovered, segmentBytes: number) {
    this.layout = layout
    this.seqById = recovered.seqById
    this.#path = path
    this.#segmentBytes = segmentBytes
    this.#manifest = recovered.manifest
    this.#head = recovered.head
    this.#index = this.#indexAfter(recovered)
    const open = recovered.openSegment
    if (open !== undefined) {
      const log = new AppendLog(path, layout.segment(open.segmentSeq), open.byteLength, false)
      this.#segment = { log, segmentSeq: open.segmentSeq, firstEntrySeq: open.firstEntrySeq }
    }
  }

  get manifest(): Manifest.Manifest {
    return this.#manifest
  }

  get state(): StoreState {
    return this.#manifest.state
  }

  /** The last acknowledged frame. */
  get head(): Head | undefined {
    return this.#head
  }

  /** `entry_seq` of the next frame. */
  get nextSeq(): number {
    return this.#head === undefined ? 0 : this.#head.entry_seq + 1
  }

  /** Writes index rows when enough of them wait. They are not synced, so a failure loses nothing. */
  get writeFullIndex(): Effect.Effect<void, never, FileSystem.FileSystem> {
    return this.#index.isFull ? Effect.ignore(this.#index.write()) : Effect.void
  }

  /** Writes the index rows that wait, as far as the disk allows, and closes the files. */
  get close(): Effect.Effect<void, never, FileSystem.FileSystem> {
    return Effect.ignore(this.#index.flush()).pipe(
      Effect.andThen(Effect.ignore(this.#index.close)),
      Effect.andThen(this.#segment === undefined ? Effect.void : Effect.ignore(this.#segment.log.close))
    )
  }

  /** Writes a manifest again whose writing failed. */
  finishManifest(): Effect.Effect<void, StoreIoError, Needs> {
    const unfinished = this.#unfinished
    return unfinished === undefined ? Effect.void : this.#put(unfinished)
  }

  /** Appends frames durably, in pieces, so that neither writes nor segments grow with the group. */
  readonly append = Effect.fnUntraced(
    { self: this },
    function* (this: OpenContainer, inputs: ReadonlyArray<FrameInput>): Effect.fn.Return<void, WriteError, Needs> {
      const limit = Math.min(this.#segmentBytes, PIECE_BYTES)
      let from = 0
      let size = 0
      for (let at = 0; at < inputs.length; at++) {
        size += inputs[at]!.payload.length
        if (size < limit && at + 1 < inputs.length) continue
        yield* this.#appendPiece(inputs.slice(from, at + 1))
        from = at + 1
        size = 0
      }
    }
  )

  readonly #appendPiece = Effect.fnUntraced(
    { self: this },
    function* (this: OpenContainer, inputs: ReadonlyArray<FrameInput>): Effect.fn.Return<void, WriteError, Needs> {
      const isFull = this.#segment !== undefined && this.#segment.log.length >= this.#segmentBytes
      if (this.state === "MIGRATION_STAGING") {
        if (isFull) yield* this.#revise(this.#sealed())
      } else {
        if (isFull) yield* this.settle("CHECKPOINTED")
        if (this.state !== "DIRTY") yield* this.settle("DIRTY")
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
      for (const row of rows) this.seqById.set(row.entry_id, row.entry_seq)
      this.#index.add(rows)
    }
  )

  #openSegment() {
    if (this.#segment === undefined) {
      const segmentSeq = (this.#manifest.segments.at(-1)?.segment_seq ?? 0) + 1
      const log = new AppendLog(this.#path, this.layout.segment(segmentSeq), 0, true)
      this.#segment = { log, segmentSeq, firstEntrySeq: this.nextSeq }
    }
    return this.#segment
  }

  /** Steps through the states until the target is reached: seals, indexes and checkpoints on the way. */
  readonly settle = Effect.fnUntraced(
    { self: this },
    function* (this: OpenContainer, target: "CHECKPOINTED" | "DIRTY"): Effect.fn.Return<void, WriteError, Needs> {
      yield* this.finishManifest()
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

  /** Seals, indexes and checkpoints a container that is being built, without a change of state. */
  readonly completeStaging = Effect.fnUntraced({ self: this }, function* (this: OpenContainer): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    yield* this.finishManifest()
    yield* this.#revise(this.#sealed())
    yield* this.#flushIndex()
    yield* this.#revise({ index: this.#index.extent })
    const checkpoint_seq = yield* this.#addCheckpoint()
    if (checkpoint_seq !== undefined) yield* this.#revise({ checkpoint_seq })
  })

  /** Changes of the manifest that seal the open segment. An empty segment stays open. */
  #sealed(): Partial<Manifest.Manifest> {
    const head = this.#head
    const segment = this.#segment
    if (head === undefined) return {}
    const counted = { head, entry_count: head.entry_seq }
    if (segment === undefined || segment.log.length === 0) return counted
    const sealed = sealedAt(head, segment.firstEntrySeq, segment.log.durableLength)
    return { ...counted, segments: [...this.#manifest.segments, sealed] }
  }

  readonly #completeIndex = Effect.fnUntraced({ self: this }, function* (this: OpenContainer): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    yield* this.#flushIndex()
    // A recovery within the flush took this step already.
    if (this.state === "INDEXED") return
    yield* this.#step("INDEXED", { index: this.#index.extent })
  })

  /** Writes and syncs the rows that wait. Rebuilds an index that was removed or replaced. */
  readonly #flushIndex = Effect.fnUntraced({ self: this }, function* (this: OpenContainer): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    const flushed = yield* Effect.result(this.#index.flush())
    if (Result.isSuccess(flushed)) return
    const exists = Option.isSome(yield* sizeOf(this.layout.offsets))
    if (exists && !this.#index.isLost) return yield* flushed.failure
    yield* Effect.ignore(this.#index.close)
    const recovered = yield* StoreRecovery.recover(this.layout, this.#manifest.session_id)
    this.#manifest = recovered.manifest
    this.#index = this.#indexAfter(recovered)
    yield* this.#index.flush()
  })

  #indexAfter({ head, indexBytes }: StoreRecovery.Recovered): IndexLog {
    const row_count = head === undefined ? 0 : head.entry_seq + 1
    return new IndexLog(this.#path, this.layout.offsets, { byte_length: indexBytes, row_count })
  }

  readonly #writeCheckpoint = Effect.fnUntraced({ self: this }, function* (this: OpenContainer): Effect.fn.Return<
    void,
    WriteError,
    Needs
  > {
    const checkpoint_seq = yield* this.#addCheckpoint()
    yield* this.#step("CHECKPOINTED", checkpoint_seq === undefined ? {} : { checkpoint_seq })
  })

  /** Writes a checkpoint of the head and returns its number; undefined in a store without frames. */
  readonly #addCheckpoint = Effect.fnUntraced({ self: this }, function* (this: OpenContainer): Effect.fn.Return<
    Checkpoint.Checkpoint["checkpoint_seq"] | undefined,
    WriteError,
    Needs
  > {
    const head = this.#head
    if (head === undefined) return undefined
    const checkpoint = yield* Effect.scoped(CheckpointFold.fold(this.layout, this.#manifest, head))
    yield* CheckpointFold.put(this.layout, checkpoint)
    return checkpoint.checkpoint_seq
  })

  #step(to: StoreState, changes: Partial<Manifest.Manifest> = {}): Effect.Effect<void, StoreIoError, Needs> {
    return Effect.flatMap(Effect.orDie(stepped(this.#manifest, to, changes)), (next) => this.#put(next))
  }

  #revise(changes: Partial<Manifest.Manifest>): Effect.Effect<void, StoreIoError, Needs> {
    return Effect.flatMap(revised(this.#manifest, changes), (next) => this.#put(next))
  }

  readonly #put = Effect.fnUntraced(
    { self: this },
    function* (this: OpenContainer, manifest: Manifest.Manifest): Effect.fn.Return<void, StoreIoError, Needs> {
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
