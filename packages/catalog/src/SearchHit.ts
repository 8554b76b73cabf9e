/** A search result: a text of an entry that matches, its position, and the lines around the matches. */
import type { CatalogSession } from "./CatalogSession.ts"
import type { TextRange } from "./SearchPattern.ts"
import type { TextKind } from "./SearchScope.ts"

/** A line of a text, without its line break. */
export interface HitLine {
  /** Line number in the text, from 1. */
  readonly line: number
  /** UTF-16 offset of the line's first character in the text. */
  readonly offset: number
  readonly text: string
}

/** The position of an entry in its session's tree. */
export interface BranchPosition {
  /** Whether it is on the path from the root to the session's leaf, where Pi continues. */
  readonly active: boolean
  /** Number of its ancestors. */
  readonly depth: number
  /** The end of its branch: the session's leaf, else its last descendant. Null in version 1, and without an id. */
  readonly leafId: string | null
}

/** A fork that contains a copy of an entry. */
export interface ForkCopy {
  readonly id: string
  readonly path: string
}

export interface SearchHit {
  readonly session: CatalogSession
  /** The entry's id. Entries of version 1 have derived ids, and null unless positions were requested. */
  readonly entryId: string | null
  /** ISO 8601, of the entry or else of its message. */
  readonly timestamp: string | undefined
  /** Entry type. */
  readonly type: string
  /** Role of the message, if the entry is one. */
  readonly role: string | undefined
  readonly kind: TextKind
  /** The tool of a call or result. */
  readonly tool: string | undefined
  /** Offset of the entry in its file; for a container or database, in the file that it would export. */
  readonly byteOffset: number
  /** Undefined if a later entry has the same id, or if positions were not requested. */
  readonly position: BranchPosition | undefined
  /** Offsets in the text. */
  readonly matches: ReadonlyArray<TextRange>
  /** The lines with matches, and the requested lines around them. */
  readonly lines: ReadonlyArray<HitLine>
  /** Forks that contain the same entry. */
  readonly forks: ReadonlyArray<ForkCopy>
}
