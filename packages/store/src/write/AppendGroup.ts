/**
 * The entries that one write and sync will carry: requests are taken in whole or refused, by id and parent, against the
 * store and what the group holds already.
 */
import * as Effect from "effect/Effect"
import { type FrameInput, isShort } from "../wire/SegmentFrame.ts"
import { EntryRefused } from "../StoreError.ts"

/** Where an appended entry stands. */
export interface Appended {
  readonly entryId: string
  /** From 1. */
  readonly entrySeq: number
  /** Whether this call wrote it; false when it was there already. */
  readonly written: boolean
}

/** What a group needs to know of the store it goes to. */
export interface Existing<E, R> {
  /** For errors. */
  readonly path: string
  /** `entry_seq` of the next frame. */
  readonly nextSeq: number
  /** Positions by id, the header's under the session's id. */
  readonly seqById: ReadonlyMap<string, number>
  /** The payload of an entry that is in the store. */
  readonly payloadAt: (entrySeq: number) => Effect.Effect<Uint8Array, E, R>
}

export class AppendGroup<E, R> {
  readonly #store: Existing<E, R>
  readonly #inputs: Array<FrameInput> = []
  readonly #seqById = new Map<string, number>()

  constructor(store: Existing<E, R>) {
    this.#store = store
  }

  /** What is to be written, in order. */
  get inputs(): ReadonlyArray<FrameInput> {
    return this.#inputs
  }

  /** Takes a request: adds what is new of it, or fails and adds nothing. */
  readonly add = Effect.fnUntraced(
    { self: this },
    function* (
      this: AppendGroup<E, R>,
      given: ReadonlyArray<FrameInput>
    ): Effect.fn.Return<ReadonlyArray<Appended>, EntryRefused | E, R> {
      const { nextSeq, path, seqById } = this.#store
      const fresh: Array<FrameInput> = []
      const freshSeq = new Map<string, number>()
      // Entries that were migrated without an id have the empty one, which names none of them.
      const seqOf = (id: string): number | undefined =>
        id === "" ? undefined : (seqById.get(id) ?? this.#seqById.get(id) ?? freshSeq.get(id))
      const appended: Array<Appended> = []
      for (const input of given) {
        const { entryId, entryType, parentId } = input
        const entrySeq = nextSeq + this.#inputs.length + fresh.length
        if (entrySeq === 0 && entryType !== "session") {
          return yield* new EntryRefused({ path, entryId, why: "before-header" })
        }
        if (!isShort(entryId, parentId, entryType)) {
          return yield* new EntryRefused({ path, entryId: `${entryId.slice(0, 40)}...`, why: "too-long" })
        }
        const known = seqOf(entryId)
        if (known !== undefined) {
          const at = known - nextSeq
          const waiting = (at < this.#inputs.length ? this.#inputs[at] : fresh[at - this.#inputs.length])?.payload
          if (!isSamePayload(input.payload, waiting ?? (yield* this.#store.payloadAt(known)))) {
            return yield* new EntryRefused({ path, entryId, why: "id-taken" })
          }
          appended.push({ entryId, entrySeq: known, written: false })
          continue
        }
        // The header's frame stands under the session's id, which is no entry.
        if (parentId !== null && (seqOf(parentId) ?? 0) === 0) {
          return yield* new EntryRefused({ path, entryId, why: "unknown-parent", parentId })
        }
        freshSeq.set(entryId, entrySeq)
        fresh.push(input)
        appended.push({ entryId, entrySeq, written: true })
      }
      for (const input of fresh) this.#inputs.push(input)
      for (const [id, seq] of freshSeq) this.#seqById.set(id, seq)
      return appended
    }
  )
}

/** Whether two lines are the same but for blank lines around them. */
const isSamePayload = (a: Uint8Array, b: Uint8Array): boolean => {
  const left = Buffer.from(a.buffer, a.byteOffset, a.byteLength)
  const right = Buffer.from(b.buffer, b.byteOffset, b.byteLength)
  return left.equals(right) || left.toString("latin1").trim() === right.toString("latin1").trim()
}
