/** A change that a repair made. */

/** One change, and the position in the original. */
export interface Change {
  readonly line: number
  readonly byteOffset: number
  /** The entry's id in the repaired copy. */
  readonly entryId?: string
  readonly what: string
}
