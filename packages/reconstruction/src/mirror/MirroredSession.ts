/**
 * Copies one session file into a thread, a batch at a time. The state is saved only after the sink has acknowledged the
 * batch (docs/adr/007-mirroring.md).
 *
 * Reads the whole thread if the state does not show where the file continues: no record exists of a session that
 * is not new; Pi has rewritten the file; the thread already had some of what was sent, perhaps from another machine.
 *
 * When the thread lacks a line that its server acknowledged, the lines from there on are sent again. When it still lacks
 * that line, mirroring fails: the server does not keep what it acknowledges.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { ThreadSink } from "../ThreadSink.ts"
import { ThreadSource } from "../ThreadSource.ts"
import * as FileStat from "./FileStat.ts"
import { type FollowState, initial } from "./FollowState.ts"
import { type MirrorChunks } from "./MirrorChunks.ts"
import { type MirrorRecord, type MirrorStore } from "./MirrorStore.ts"
import { type MirrorTrouble, Refused, fromFile, fromSink } from "./MirrorTrouble.ts"
import { type FollowLimits, type SessionFollower } from "./SessionFollower.ts"
import * as Follower from "./SessionFollower.ts"
import * as ThreadPosition from "./ThreadPosition.ts"

export interface Options {
  readonly store: MirrorStore
  readonly limits: FollowLimits
  /** Bytes that the file had before its generation began. They may repeat turns of other sessions in the thread. */
  readonly copiedUntil: number
}

interface Services {
  readonly sink: ThreadSink["Service"]
  readonly source: ThreadSource["Service"]
  readonly fs: FileSystem.FileSystem
  readonly follower: SessionFollower
}

/** The session of a record; continues where the record ends. */
export const make = Effect.fnUntraced(function* (
  record: MirrorRecord,
  options: Options
): Effect.fn.Return<MirroredSession, never, ThreadSink | ThreadSource | FileSystem.FileSystem> {
  const sink = yield* ThreadSink
  const source = yield* ThreadSource
  const fs = yield* FileSystem.FileSystem
  const follower = yield* Follower.make(record.state.file)
  return new MirroredSession(record, options, { sink, source, fs, follower })
})

export class MirroredSession {
  readonly #services: Services
  readonly #store: MirrorStore
  readonly #limits: FollowLimits
  #state: FollowState
  #placed: boolean
  #copiedUntil: number
  /** The file's signature when it had nothing new. */
  #unchanged = ""
  /** Id of the raw line that the thread lacked when it was last read. */
  #missing: string | undefined
  #needsSave = false
  /** Hash of the last request context. */
  contextSha256: string | undefined

  constructor(record: MirrorRecord, { copiedUntil, limits, store }: Options, services: Services) {
    this.#services = services
    this.#store = store
    this.#limits = limits
    this.#state = record.state
    this.#placed = record.placed
    this.#copiedUntil = copiedUntil
    this.contextSha256 = record.contextSha256
  }

  /** How far the thread is known to hold the file. */
  get state(): FollowState {
    return this.#state
  }

  /** Saves the record. After a failure, each step tries again. */
  readonly save: Effect.Effect<void> = Effect.suspend(() => {
    this.#needsSave = true
    const { contextSha256 } = this
    const context = contextSha256 === undefined ? {} : { contextSha256 }
    return this.#store.save({ state: this.#state, placed: this.#placed, ...context }).pipe(
      Effect.andThen(
        Effect.sync(() => {
          this.#needsSave = false
        })
      ),
      Effect.ignore
    )
  })

  /** Sends one batch, and the pending chunks before it. False when the thread is up to date. */
  step(chunks: MirrorChunks | undefined): Effect.Effect<boolean, MirrorTrouble> {
    return Effect.gen({ self: this }, function* () {
      if (this.#needsSave) yield* this.save
      const from = this.#state
      const { fs, follower } = this.#services
      const signature = yield* FileStat.signatureOf(fs, from.file)
      if (signature === this.#unchanged && (chunks === undefined || chunks.isEmpty)) return false
      if (!this.#placed) {
        yield* this.#place(initial(from))
        return true
      }
      const read = yield* Effect.mapError(follower.next(from, this.#limits), fromFile)
      // Taken after the read, so that chunks never follow the answer that they belong to.
      const live = chunks === undefined || chunks.isEmpty ? [] : chunks.take(from.threadId, yield* now)
      switch (read._tag) {
        case "Rewritten":
          this.#missing = undefined
          yield* this.#place(initial(from, from.generation + 1))
          return true
        case "Nothing":
          if (live.length > 0) yield* this.#append(live)
          this.#unchanged = signature
          return false
        case "Batch": {
          const { repeated } = yield* this.#append([...live, ...read.entries])
          if (repeated > this.#expectedRepeats(read.entries.length, read.state)) yield* this.#place(read.state)
          else {
            this.#state = read.state
            yield* this.save
          }
          return true
        }
      }
    })
  }

  #append(entries: Parameters<ThreadSink["Service"]["append"]>[1]) {
    return Effect.mapError(this.#services.sink.append(this.#state.threadId, entries), fromSink)
  }

  /** In a file that was copied from another session, projections may repeat; raw lines are new. */
  #expectedRepeats(entries: number, next: FollowState): number {
    const { byteOffset, seq } = this.#state
    return byteOffset >= this.#copiedUntil ? 0 : entries - (next.seq - seq)
  }

  /** Reads the thread to find where the file continues. Fails when the thread lacks the same line as the last time. */
  #place(acknowledged: FollowState): Effect.Effect<void, MirrorTrouble> {
    return Effect.gen({ self: this }, function* () {
      const { source, fs, follower } = this.#services
      const { file, threadId } = this.#state
      const lineage = yield* ThreadPosition.lineageOf(source, this.#state)
      const size = yield* FileStat.sizeOf(fs, file)
      const found = yield* ThreadPosition.find(follower, lineage, this.#state, acknowledged)
      const { missing } = found
      if (missing !== undefined && missing === this.#missing) {
        const message = `thread ${threadId} lacks ${missing}, although its server acknowledges that entry each time`
        return yield* new Refused({ threadId, message })
      }
      this.#missing = missing
      this.#state = found.state
      this.#placed = true
      this.#copiedUntil = found.isHeld && missing === undefined ? 0 : size
      yield* this.save
    })
  }
}

const now = Effect.map(DateTime.now, DateTime.formatIso)
