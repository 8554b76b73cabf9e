/** Reading and moving the active store marker. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as ActiveStore from "../wire/ActiveStore.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { readWhole, replaceFile, settleName } from "./durable.ts"
import { nowInstant, otherSession } from "./manifestFile.ts"

type Needs = FileSystem.FileSystem | Path.Path

/** The marker; undefined for a session that never had a store. A marker of another session is damage. */
export const readActive = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<ActiveStore.ActiveStore | undefined, StoreIoError | StoreDamaged, Needs> {
  const path = yield* Path.Path
  const { active } = StoreLayout.names(path, location)
  const bytes = yield* readWhole(active)
  if (Option.isNone(bytes)) return undefined
  const decoded = ActiveStore.decode(bytes.value)
  const damaged = (reason: string) => new StoreDamaged({ path: active, byteOffset: 0, reason, invariant: "INV-007" })
  if (Result.isFailure(decoded)) return yield* damaged(decoded.failure)
  const { session_id } = decoded.success
  if (session_id !== location.sessionId) return yield* damaged(otherSession(session_id, location.sessionId))
  return decoded.success
})

/** Makes the marker that is read now durable. */
export const settleActive = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation) {
  const { active } = StoreLayout.names(yield* Path.Path, location)
  yield* settleName(`${active}.tmp`, active)
})

/** Makes another store the active one. This is the commit of a migration and of a rollback. */
export const moveActive = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  to: Pick<ActiveStore.ActiveStore, "active" | "path" | "correlation_id">
): Effect.fn.Return<void, StoreIoError, Needs> {
  const path = yield* Path.Path
  const { active, container } = StoreLayout.names(path, location)
  const bytes = ActiveStore.encode({
    schema: ActiveStore.SCHEMA_ID,
    session_id: location.sessionId,
    ...to,
    manifest: to.active === "native_v2" ? `${path.basename(container)}/manifest.json` : null,
    changed_at: yield* nowInstant
  })
  yield* replaceFile(`${active}.tmp`, active, bytes)
})
