/**
 * The entries of one group commit. Each request is accepted as a whole or refused, after comparing its ids and parents
 * with the store and with the group.
 */
import * as Effect from "effect/Effect"
import { type FrameInput, isShort } from "../wire/SegmentFrame.ts"
import { EntryRefused } from "../StoreError.ts"

/** An acknowledged entry. */
export interface Appended {
  readonly entryId: string
  /** Position, from 1. */
  readonly entrySeq: number
  /** Whether this call wrote it; false when the store already had it. */
  readonly written: boolean
}

/** The store that a group is appended to. */
export interface Existing<E, R> {
  /** Path for errors. */
  readonly path: string
  /** `entry_seq` of the next frame. */
  readonly nextSeq: number
  /** Position of each entry by its id; the header is under the session's id. */
  readonly seqById: ReadonlyMap<string, number>
  /** Reads the payload of an entry in the store. */
  readonly payloadAt: (entrySeq: number) => Effect.Effect<Uint8Array, E, R>
}

export class AppendGroup<E, R> {
  readonly #store: Existing<E, R>
  readonly #inputs: Array<FrameInput> = []
  readonly #seqById = new Map<string, number>()

  constructor(store: Existing<E, R>) {
    this.#store = store
  }

  /** The entries to write, in order. */
  get inputs(): ReadonlyArray<FrameInput> {
    return this.#inputs
  }

  /** Adds the new entries of a request, or fails and adds nothing. */
  readonly add = Effect.fnUntraced(
    { self: this },
    function* (
      this: AppendGroup<E, R>,
      given: ReadonlyArray<FrameInput>
    ): Effect.fn.Return<ReadonlyArray<Appended>, EntryRefused | E, R> {
      const { nextSeq, path, seqById } = this.#store
      const fresh: Array<FrameInput> = []
      const freshSeq = new Map<string, number>()
      // The empty id belongs to migrated entries without an id, and refers to none of them.
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
        // Position 0 is the header, which is no entry.
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

/** Whether two lines are equal, except for blank lines around them. */
const isSamePayload = (a: Uint8Array, b: Uint8Array): boolean => {
  const left = Buffer.from(a.buffer, a.byteOffset, a.byteLength)
  const right = Buffer.from(b.buffer, b.byteOffset, b.byteLength)
  return left.equals(right) || left.toString("latin1").trim() === right.toString("latin1").trim()
}
