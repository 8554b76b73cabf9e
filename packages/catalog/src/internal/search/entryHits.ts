/** Finds the matches in one entry. */
import * as EntryTime from "@pi-sessions/core/EntryTime"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import type { CatalogSession } from "../../CatalogSession.ts"
import type { SearchHit } from "../../SearchHit.ts"
import type { SearchFilter, SearchQuery } from "../../SearchQuery.ts"
import { type SearchableText, textsOf } from "../../SearchScope.ts"
import { hitLines } from "./hitLines.ts"

/** The hits in an entry, one for each text that matches, without positions. */
export const entryHits = (
  { context, filter = {}, pattern, scope = "prompts" }: SearchQuery,
  session: CatalogSession,
  entry: SessionEntry,
  byteOffset: number
): ReadonlyArray<SearchHit> => {
  const hits: Array<SearchHit> = []
  let timestamp: string | undefined
  for (const text of textsOf(scope, entry)) {
    if (!isOfTools(text, filter.tools ?? [])) continue
    const matches = pattern.find(text.text)
    if (matches.length === 0) continue
    timestamp ??= EntryTime.of(entry)
    if (!isInTime(timestamp, filter)) return []
    hits.push({
      session,
      entryId: entry.id,
      timestamp,
      type: entry.type,
      role: entry.role,
      kind: text.kind,
      tool: text.tool,
      byteOffset,
      position: undefined,
      matches,
      lines: hitLines(text.text, matches, context ?? { before: 0, after: 0 }),
      forks: []
    })
  }
  return hits
}

const isOfTools = ({ tool }: SearchableText, tools: ReadonlyArray<string>): boolean =>
  tools.length === 0 || (tool !== undefined && tools.includes(tool))

const isInTime = (
  timestamp: string | undefined,
  { sinceMs = -Infinity, untilMs = Infinity }: SearchFilter
): boolean => {
  if (sinceMs === -Infinity && untilMs === Infinity) return true
  const ms = Date.parse(timestamp ?? "")
  return ms >= sinceMs && ms < untilMs
}
