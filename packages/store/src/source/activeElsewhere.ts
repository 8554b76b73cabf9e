/** Sessions with a container whose active store is a file: which file that is, and which other files are not listed. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { SessionStore } from "../SessionStore.ts"
import type * as StoreLayout from "../StoreLayout.ts"
import { type StoreFormat } from "../wire/WireField.ts"
import { activeFile } from "../migrate/cutover.ts"

/** The active store of a session, by its marker. */
export interface ActiveAt extends StoreLayout.StoreLocation {
  /** Absolute path of the active store. */
  readonly path: string
  readonly format: StoreFormat
}

/** The active store of a container's session; undefined where the marker is missing or damaged, or the store is missing. */
export const of = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<ActiveAt | undefined, never, SessionStore | FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const marker = yield* (yield* SessionStore).active(location).pipe(Effect.orElseSucceed(() => undefined))
  if (marker === undefined) return undefined
  const path = activeFile(yield* Path.Path, location, marker)
  const isThere = yield* fs.exists(path).pipe(Effect.orElseSucceed(() => false))
  return isThere ? { ...location, path, format: marker.active } : undefined
})

/** Pi puts the session id into the file name. */
const NAMED = /_([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/

/** Makes a test whether the session of a file has another active store in its directory. `idOf` runs only if needed. */
export const among = (stores: ReadonlyArray<ActiveAt>) => {
  const byId = new Map<string, Map<string, string>>()
  for (const { directory, path, sessionId } of stores) {
    byId.set(directory, (byId.get(directory) ?? new Map<string, string>()).set(sessionId, path))
  }
  return Effect.fnUntraced(function* <E, R>(
    directory: string,
    file: string,
    idOf: Effect.Effect<string | undefined, E, R>
  ): Effect.fn.Return<boolean, E, R> {
    const here = byId.get(directory)
    const named = NAMED.exec(file)?.[1]
    if (here === undefined || (named !== undefined && !here.has(named))) return false
    const active = here.get((yield* idOf) ?? "")
    return active !== undefined && active !== file
  })
}
