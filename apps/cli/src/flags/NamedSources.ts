/** The sessions of `--sessions`, or of Pi's own places, as a source of training data. */
import * as Effect from "effect/Effect"
import * as SessionDiscovery from "@pi-sessions/catalog/SessionDiscovery"
import { Invocation } from "../Invocation.ts"
import * as StoredSessions from "../StoredSessions.ts"

/** A layer that reads the sessions. Prints which of Pi's places are searched. */
export const layer = Effect.fnUntraced(function* (sessions: ReadonlyArray<string>) {
  const invocation = yield* Invocation
  const { roots, missing } = yield* SessionDiscovery.discover({ sessions, cwd: invocation.cwd })
  for (const { path, why } of [...roots, ...missing]) {
    if (why !== "--sessions") yield* invocation.note(`sessions: ${path} (${why})`)
  }
  return StoredSessions.layerPaths(roots.map(({ path }) => path))
})
