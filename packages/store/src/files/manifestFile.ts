/** Writing the manifest, and the steps of the state machine that go with it. */
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

/** What is wrong with a record of session `found` in the store of session `sessionId`. */
export const otherSession = (found: string, sessionId: string): string =>
  `it is of session ${found}, not of ${sessionId}: another session's store was put in its place`

/** The time, as records tell it. */
export const nowInstant = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

/** The manifest; fails when it is missing, damaged, or does not count its segments without a gap. */
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

/** Puts a manifest in place of the last one: written beside, synced, renamed. */
export const writeManifest = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  yield* replaceFile(path.join(layout.tmp, "manifest.json"), layout.manifest, Manifest.encode(manifest))
})

/** Makes the manifest durable as it is read now. */
export const settleManifest = Effect.fnUntraced(function* (layout: StoreLayout) {
  const path = yield* Path.Path
  yield* settleName(path.join(layout.tmp, "manifest.json"), layout.manifest)
})

/** The manifest with other contents in the same state; nothing is written yet. */
export const revised = (manifest: Manifest.Manifest, changes: Partial<Manifest.Manifest>) =>
  Effect.map(nowInstant, (updated_at): Manifest.Manifest => {
    return { ...manifest, ...changes, updated_at, revision: manifest.revision + 1 }
  })

/** The manifest after a step to another state; nothing is written yet. */
export const stepped = Effect.fnUntraced(function* (
  manifest: Manifest.Manifest,
  to: StoreState,
  changes: Partial<Manifest.Manifest> = {}
): Effect.fn.Return<Manifest.Manifest, IllegalTransition> {
  const state = yield* Effect.fromResult(transition(manifest.state, to))
  return yield* revised(manifest, { ...changes, state })
})
