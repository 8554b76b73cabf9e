/** Containers without a marker: whether one was the active store, and making it active again. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import {
  MarkerLost,
  StoreDamaged,
  StoreFailed,
  type StoreIoError,
  StoreNotActive,
  StoreNotFound
} from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { type StoreState } from "../StoreState.ts"
import * as StoreVerify from "../StoreVerify.ts"
import * as StoreWriter from "../StoreWriter.ts"
import { openPresent } from "../read/openView.ts"
import { moveActive, readActive } from "../files/activeStoreFile.ts"
import { renameDurably, sizeOf } from "../files/durable.ts"
import { readManifest, readSoundManifest } from "../files/manifestFile.ts"
import * as Staging from "./staging.ts"

type Needs = FileSystem.FileSystem | Path.Path

/**
 * Fails when the container of a session without a marker was its active store, because it may hold entries that are
 * nowhere else. It was not when its cutover did not happen, or when it was created and never got an entry. An unreadable
 * container counts as active.
 */
export const mustBeFree = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<void, StoreIoError | MarkerLost, Needs> {
  const path = yield* Path.Path
  const names = StoreLayout.names(path, location)
  if (Option.isNone(yield* sizeOf(names.container))) return
  const layout = StoreLayout.of(path, names.container)
  // An interrupted `retire` moved the marker and not yet the container.
  if (Option.isSome(yield* sizeOf(Staging.retiredMarker(yield* Staging.retiredName(location))))) return
  const lost = new MarkerLost({ path: names.active, container: names.container })
  const manifest = yield* readManifest(layout).pipe(Effect.catchTag("StoreDamaged", () => Effect.fail(lost)))
  if (manifest.state === "MIGRATION_STAGING") return
  if (manifest.correlation_id !== null) return yield* lost
  const frames = yield* Effect.scoped(Effect.map(openPresent(layout), (view) => view.frameCount)).pipe(
    Effect.catchTag("StoreDamaged", () => Effect.fail(lost))
  )
  if (frames > 1) return yield* lost
})

const REFUSED: { readonly [state in StoreState]?: string } = {
  MIGRATION_STAGING: "the migration into it was not finished; migrate its source again",
  ROLLED_BACK: "it was left for a file, which may hold more by now; migrate that file",
  FAILED: "an earlier step could not be finished or undone"
}

/** Writes the marker of a container that lost it, after recovering and verifying the container. Requires the lock. */
export const activate = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<
  "activated" | "already",
  StoreIoError | StoreDamaged | StoreFailed | StoreNotActive | StoreNotFound,
  Needs
> {
  const path = yield* Path.Path
  const names = StoreLayout.names(path, location)
  const layout = StoreLayout.of(path, names.container)
  if (Option.isNone(yield* sizeOf(names.container))) return yield* new StoreNotFound({ path: names.container })
  const marker = yield* Effect.result(readActive(location))
  if (Result.isFailure(marker) && marker.failure._tag === "StoreIoError") return yield* marker.failure
  const active = Result.getOrUndefined(marker)
  if (active?.active === "native_v2") return "already"
  if (active !== undefined) {
    const activePath = path.resolve(location.directory, active.path)
    return yield* new StoreNotActive({ path: names.container, active: active.active, activePath })
  }
  const found = yield* readSoundManifest(layout)
  const why = found === undefined ? undefined : REFUSED[found.state]
  if (why !== undefined) return yield* new StoreFailed({ path: names.container, reason: why })
  yield* Effect.scoped(StoreWriter.open(layout, location.sessionId))
  const { findings } = yield* StoreVerify.verify(layout, { sessionId: location.sessionId })
  const broken = findings.find(({ invariant }) => invariant !== null)
  if (broken !== undefined) {
    return yield* new StoreDamaged({ path: broken.path, byteOffset: broken.byte_offset, reason: broken.message })
  }
  const { correlation_id } = yield* readManifest(layout)
  if (Result.isFailure(marker)) yield* keptAside(names.active)
  yield* moveActive(location, { active: "native_v2", path: path.basename(names.container), correlation_id })
  return "activated"
})

/** Renames a damaged marker, so that its bytes are kept. */
const keptAside = Effect.fnUntraced(function* (marker: string) {
  for (let n = 1; ; n++) {
    const aside = `${marker}.damaged-${n}`
    if (Option.isNone(yield* sizeOf(aside))) return yield* renameDurably(marker, aside)
  }
})
