/** The sessions that a mirror brings up to date: the one that Pi is in, and other files with lines to send. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { type ThreadSink } from "../ThreadSink.ts"
import { type ThreadSource } from "../ThreadSource.ts"
import * as FileStat from "./FileStat.ts"
import { initial } from "./FollowState.ts"
import { type MirrorRecord, type MirrorStore } from "./MirrorStore.ts"
import * as MirroredSession from "./MirroredSession.ts"
import { type FollowLimits } from "./SessionFollower.ts"

/** The session that Pi is in. */
export interface MirrorSession {
  /** Path of the session file, which may not exist yet. */
  readonly file: string
  readonly sessionId: string
  /** The thread to mirror into. Default: the one that this file was mirrored into before. */
  readonly threadId?: string | undefined
  /** The thread when the file was not mirrored before. */
  readonly fallbackThreadId: string
  /** Whether the session has just begun, so that no thread can hold any of it. */
  readonly fresh: boolean
}

export class OpenSessions {
  readonly #store: MirrorStore
  readonly #limits: FollowLimits
  #current: MirroredSession.MirroredSession | undefined
  #others: ReadonlyArray<MirroredSession.MirroredSession> = []

  constructor(store: MirrorStore, limits: FollowLimits) {
    this.#store = store
    this.#limits = limits
  }

  /** The session that Pi is in. */
  get current(): MirroredSession.MirroredSession | undefined {
    return this.#current
  }

  /** Another session that may have lines to send. */
  get nextOther(): MirroredSession.MirroredSession | undefined {
    return this.#others[0]
  }

  remove(session: MirroredSession.MirroredSession): void {
    this.#others = this.#others.filter((other) => other !== session)
  }

  /** Makes `session` the current one. Files of other records that have grown become others. */
  open(
    session: MirrorSession
  ): Effect.Effect<MirroredSession.MirroredSession, never, ThreadSink | ThreadSource | FileSystem.FileSystem> {
    return Effect.gen({ self: this }, function* () {
      const fs = yield* FileSystem.FileSystem
      const records = yield* Effect.orElseSucceed(this.#store.records, () => [])
      const known = records.find((record) => isRecordOf(record, session))
      const threadId = session.threadId ?? session.fallbackThreadId
      const record = known ?? { state: initial({ ...session, threadId }), placed: session.fresh }
      if (this.#current !== undefined) this.#others = [...this.#others, this.#current]
      const opened = yield* this.#make(record, session.fresh ? yield* FileStat.sizeOf(fs, session.file) : 0)
      // Saved at once: a session that is killed before its first line arrives is found at the next start.
      if (known === undefined) yield* opened.save
      for (const other of records) {
        const { byteOffset, file } = other.state
        if (file === session.file || this.#others.some(({ state }) => state.file === file)) continue
        if ((yield* FileStat.sizeOf(fs, file)) === byteOffset) continue
        this.#others = [...this.#others, yield* this.#make(other, 0)]
      }
      this.#current = opened
      return opened
    })
  }

  #make(record: MirrorRecord, copiedUntil: number) {
    return MirroredSession.make(record, { store: this.#store, limits: this.#limits, copiedUntil })
  }
}

const isRecordOf = ({ state }: MirrorRecord, { file, sessionId, threadId }: MirrorSession): boolean =>
  state.file === file && state.sessionId === sessionId && (threadId === undefined || state.threadId === threadId)
