/** The sessions of containers that are in a file: which file that is, and which files are not listed beside it. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { SessionStore } from "../SessionStore.ts"
import type * as StoreLayout from "../StoreLayout.ts"
import { type StoreFormat } from "../wire/WireField.ts"
import { activeFile } from "../migrate/cutover.ts"

/** Where a session is, by its marker. */
export interface ActiveAt extends StoreLayout.StoreLocation {
  /** Of the active store, absolute. */
  readonly path: string
  readonly format: StoreFormat
}

/** The active store of a container's session; undefined where there is no sound marker, or no such store. */
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

/** Pi names a file after its session. */
const NAMED = /_([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/

/** Says of files whether their session has another active store beside them; `idOf` is asked where it may be so. */
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
