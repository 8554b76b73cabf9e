/** Reading and writing the manifest, and its steps through the state machine. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Manifest from "../wire/Manifest.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { type IllegalTransition, type StoreState, transition } from "../StoreState.ts"
import { readWhole, replaceFile, settleName } from "./durable.ts"
import { gapIn } from "../wire/sealing.ts"

/** Message for a record of session `found` in the store of session `sessionId`. */
export const otherSession = (found: string, sessionId: string): string =>
  `it is of session ${found}, not of ${sessionId}: another session's store was put in its place`

/** The current time as records have it. */
export const nowInstant = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

/** Fails when the manifest is missing or damaged, or when its list of segments has a gap. */
export const readManifest = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<Manifest.Manifest, StoreDamaged | StoreIoError, FileSystem.FileSystem> {
  const bytes = yield* readWhole(layout.manifest)
  const decoded = Option.match(bytes, {
    onNone: () => Result.fail("there is no manifest"),
    onSome: (bytes) => Manifest.decode(bytes)
  })
  const counted = Result.flatMap(decoded, (manifest) => {
    const gap = gapIn(manifest.segments)
    return gap === undefined ? Result.succeed(manifest) : Result.fail(gap)
  })
  return Result.isSuccess(counted)
    ? counted.success
    : yield* new StoreDamaged({ path: layout.manifest, byteOffset: 0, reason: counted.failure })
})

/** The manifest; undefined when it is missing or damaged. */
export const readSoundManifest = (layout: StoreLayout) =>
  readManifest(layout).pipe(Effect.catchTag("StoreDamaged", () => Effect.undefined))

/** Replaces the manifest atomically. */
export const writeManifest = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  yield* replaceFile(path.join(layout.tmp, "manifest.json"), layout.manifest, Manifest.encode(manifest))
})

/** Makes the manifest that is read now durable. */
export const settleManifest = Effect.fnUntraced(function* (layout: StoreLayout) {
  const path = yield* Path.Path
  yield* settleName(path.join(layout.tmp, "manifest.json"), layout.manifest)
})

/** The first revision of a manifest, by default of a container without frames. Writes nothing. */
export const newManifest = (
  session_id: string,
  given: Pick<Manifest.Manifest, "state" | "correlation_id" | "source"> & Partial<Manifest.Manifest>
) =>
  Effect.map(nowInstant, (at): Manifest.Manifest => {
    return {
      schema: Manifest.SCHEMA_ID,
      session_id,
      revision: 1,
      created_at: at,
      updated_at: at,
      head: null,
      entry_count: 0,
      segments: [],
      index: { byte_length: 0, row_count: 0 },
      checkpoint_seq: null,
      ...given
    }
  })

/** A new revision of the manifest in the same state. Writes nothing. */
export const revised = (manifest: Manifest.Manifest, changes: Partial<Manifest.Manifest>) =>
  Effect.map(nowInstant, (updated_at): Manifest.Manifest => {
    return { ...manifest, ...changes, updated_at, revision: manifest.revision + 1 }
  })

/** A new revision of the manifest in another state. Writes nothing. */
export const stepped = Effect.fnUntraced(function* (
  manifest: Manifest.Manifest,
  to: StoreState,
  changes: Partial<Manifest.Manifest> = {}
): Effect.fn.Return<Manifest.Manifest, IllegalTransition> {
  const state = yield* Effect.fromResult(transition(manifest.state, to))
  return yield* revised(manifest, { ...changes, state })
})

/** Writes a manifest's step to another state. The step must be a listed one. Returns the new revision. */
export const stepManifest = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  to: StoreState
): Effect.fn.Return<Manifest.Manifest, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const next = yield* Effect.orDie(stepped(manifest, to))
  yield* writeManifest(layout, next)
  return next
})
