/** What to search for, where, and what to report. */
import type * as Effect from "effect/Effect"
import type * as GasTown from "@pi-sessions/core/GasTown"
import type { CatalogSession } from "./CatalogSession.ts"
import type { SearchPattern } from "./SearchPattern.ts"
import type { SearchScope } from "./SearchScope.ts"
import type { ContextLines } from "./internal/search/hitLines.ts"

/** Restricts sessions and entries. All filters must match; of a filter with several values, one. */
export interface SearchFilter {
  /** Rig selectors of `GasTown.matchesRig`. */
  readonly rigs?: ReadonlyArray<string>
  /** Whether rigs include the dogs that work for them. Default: false. */
  readonly includeDogs?: boolean
  readonly roles?: ReadonlyArray<GasTown.Role>
  /** The town's root directory, if paths do not show it. */
  readonly town?: string
  /** Working directories, including those below them. */
  readonly cwd?: ReadonlyArray<string>
  /** Models, as `model` or `provider/model`: entries that it wrote, or that were written while it was selected. */
  readonly models?: ReadonlyArray<string>
  /** Names of tools: only their calls and results match. */
  readonly tools?: ReadonlyArray<string>
  /** Unix time in milliseconds, inclusive. Entries without a time do not match. */
  readonly sinceMs?: number
  /** Unix time in milliseconds, exclusive. */
  readonly untilMs?: number
}

/** Why a session was not searched, or not completely. */
export interface SearchNote {
  readonly path: string
  readonly reason: string
}

export interface SearchQuery {
  /** From `SessionCatalog.list({ useIndex: false })`, because the index does not know forks. */
  readonly sessions: ReadonlyArray<CatalogSession>
  readonly pattern: SearchPattern
  /** Default: "prompts". */
  readonly scope?: SearchScope
  readonly filter?: SearchFilter
  /** Lines around a match. Default: none. */
  readonly context?: ContextLines
  /** Whether hits have positions in the tree. Sessions with hits are then read whole. Default: true. */
  readonly positions?: boolean
  /** Maximum number of hits. Default: no limit. */
  readonly limit?: number
  /** Receives notes on sessions that cannot be searched. */
  readonly onNote?: (note: SearchNote) => Effect.Effect<void>
  /** Receives the number of sessions searched so far. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}
