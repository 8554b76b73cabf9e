/** Hits of `search` as JSON. */
import type { CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import type { SearchHit } from "@pi-sessions/catalog/SearchHit"

export const session = ({ cwd, format, id, path, timestamp }: CatalogSession) => ({ id, path, format, cwd, timestamp })

/** Unknown fields are absent. Offsets of matches and lines are UTF-16 code units of the whole text. */
export const hit = (found: SearchHit) => ({
  session: session(found.session),
  entryId: found.entryId,
  timestamp: found.timestamp,
  type: found.type,
  role: found.role,
  kind: found.kind,
  tool: found.tool,
  byteOffset: found.byteOffset,
  position: found.position,
  matches: found.matches,
  lines: found.lines,
  forks: found.forks
})
