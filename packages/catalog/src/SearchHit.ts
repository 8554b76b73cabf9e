/** What a search finds: a text of an entry that matches, where it stands, and the lines around. */
import type { CatalogSession } from "./CatalogSession.ts"
import type { TextRange } from "./SearchPattern.ts"
import type { TextKind } from "./SearchScope.ts"

/** A line of a text, without its line break. */
export interface HitLine {
  /** From 1, in its text. */
  readonly line: number
  /** UTF-16 offset of the line's first character in the text; matches are counted from there too. */
  readonly offset: number
  readonly text: string
}

/** Where an entry stands in its session's tree. */
export interface BranchPosition {
  /** Whether it is on the path from the root to the session's leaf, which Pi goes on from. */
  readonly active: boolean
  /** Entries before it on the way from its root. */
  readonly depth: number
  /**
   * The end of the branch it is on: the session's leaf, else the last end that is reached from it. Null up to version 1,
   * and where the end has no id.
   */
  readonly leafId: string | null
}

/** A session that holds a copy of an entry, since it was forked from the one that has it first. */
export interface ForkCopy {
  readonly id: string
  readonly path: string
}

export interface SearchHit {
  readonly session: CatalogSession
  /**
   * The id that the entry goes by wherever the session is shown. In version 1 entries have none, and it is known only
   * where positions were asked for; else null.
   */
  readonly entryId: string | null
  /** ISO 8601: of the entry, else of its message. */
  readonly timestamp: string | undefined
  /** Of the entry. */
  readonly type: string
  /** Of the message, where the entry is one. */
  readonly role: string | undefined
  readonly kind: TextKind
  /** The tool that was called or that answered. */
  readonly tool: string | undefined
  /** Of the entry in its file; in a container or database, in the file that it stands for. */
  readonly byteOffset: number
  /** Undefined where a later entry took this one's id, and so its place, or where positions were not asked for. */
  readonly position: BranchPosition | undefined
  /** In the text. */
  readonly matches: ReadonlyArray<TextRange>
  /** The lines of the text that hold matches, and those asked for around them. */
  readonly lines: ReadonlyArray<HitLine>
  /** Forks with the same entry. */
  readonly forks: ReadonlyArray<ForkCopy>
}
