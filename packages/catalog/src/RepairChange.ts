/** A change that a repair made. */
import { type SessionLine } from "@pi-sessions/core/SessionLine"

/** One change, and its position in the original. */
export interface Change {
  /** Line number, from 1. */
  readonly line: number
  readonly byteOffset: number
  /** The entry's id in the repaired copy. */
  readonly entryId?: string
  readonly what: string
}

/** The position of a line. */
export const positionOf = ({ line, byteOffset }: SessionLine): Pick<Change, "line" | "byteOffset"> => ({
  line,
  byteOffset
})
