/** Containers as sessions of a listing. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { SessionStore } from "../SessionStore.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { modifiedMsOf } from "./fileRef.ts"

/** The location of a container by its path (`.../<session-id>.v2`); undefined for any other path. */
export const locationOf = (path: Path.Path, container: string): StoreLayout.StoreLocation | undefined => {
  const name = path.basename(container)
  return name.endsWith(".v2") && name.length > 3
    ? { directory: path.dirname(container), sessionId: name.slice(0, -3) }
    : undefined
}

/** Turns any error with a message into a SessionFileError. */
export const asFileError =
  (path: string, operation: SessionFileError["operation"]) =>
  ({ message }: { readonly message: string }): SessionFileError =>
    new SessionFileError({ path, operation, reason: message })

/** A container as a session; undefined where it is not the active store. */
export const containerRef = Effect.fn("StoreSource.containerRef")(function* (
  container: string
): Effect.fn.Return<SessionRef | undefined, SessionFileError, SessionStore | FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const location = locationOf(path, container)
  if (location === undefined) return undefined
  const active = yield* (yield* SessionStore).active(location).pipe(Effect.mapError(asFileError(container, "list")))
  if (active?.active !== "native_v2") return undefined
  return yield* ofSegments(container).pipe(Effect.mapError(asFileError(container, "list")))
})

/** Size and time of a container are those of its segments. */
const ofSegments = Effect.fnUntraced(function* (container: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { segments } = StoreLayout.of(path, container)
  let sizeBytes = 0
  let modifiedMs = 0
  for (const name of yield* fs.readDirectory(segments)) {
    const info = yield* fs.stat(path.join(segments, name))
    sizeBytes += Number(info.size)
    modifiedMs = Math.max(modifiedMs, modifiedMsOf(info))
  }
  return { path: container, sizeBytes, modifiedMs } satisfies SessionRef
})

/** Absolute paths of files that held a container's session before and are not its active store; listings leave them out. */
export const superseded = Effect.fn("StoreSource.superseded")(function* (
  container: string
): Effect.fn.Return<ReadonlyArray<string>, never, SessionStore | Path.Path> {
  const location = locationOf(yield* Path.Path, container)
  if (location === undefined) return []
  return yield* (yield* SessionStore).inactive(location).pipe(Effect.orElseSucceed(() => []))
})
