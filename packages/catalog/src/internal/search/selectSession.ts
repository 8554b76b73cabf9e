/** Decides by the filters of working directory, rig and role whether to search a session. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { CatalogSession } from "../../CatalogSession.ts"
import type { SearchQuery } from "../../SearchQuery.ts"
import * as SessionRole from "../../SessionRole.ts"
import { isWithin } from "../../WorkingDirectory.ts"
import { noting } from "./searchSession.ts"

/** Whether a session passes the filters. Reads its opening only for filters of rigs and roles. */
export const isSelected = Effect.fnUntraced(function* (
  source: SessionSource["Service"],
  { filter = {}, ...query }: SearchQuery,
  session: CatalogSession
) {
  const { cwd = [], includeDogs = false, rigs = [], roles = [], town } = filter
  if (cwd.length > 0 && !cwd.some((directory) => isWithin(session.cwd, directory))) return false
  if (rigs.length === 0 && roles.length === 0) return true
  const opening = new SessionRole.Opening()
  const read = source.lines(session).pipe(
    Stream.runForEachWhile((line) =>
      Effect.sync(() => {
        opening.push(line)
        return !opening.complete
      })
    ),
    Effect.as(true),
    Effect.catch((error) => Effect.as(noting(query, session)(error.reason), false))
  )
  if (!(yield* read)) return false
  const agent = SessionRole.detect(opening, { path: session.path, ...(town === undefined ? {} : { town }) })
  return (
    (rigs.length === 0 || rigs.some((rig) => GasTown.matchesRig(agent, rig, { includeDogs }))) &&
    (roles.length === 0 || roles.includes(agent.role))
  )
})
