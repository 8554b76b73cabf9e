/** Reads sessions in containers as session files are read. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { SessionStore } from "../SessionStore.ts"
import { asFileError, locationOf } from "./containers.ts"

const open = Effect.fnUntraced(function* ({ path }: SessionRef) {
  const location = locationOf(yield* Path.Path, path)
  if (location === undefined) return yield* Effect.die(new Error(`${path} is no container`))
  return yield* (yield* SessionStore).reader(location).pipe(Effect.mapError(asFileError(path, "read")))
})

export const header = (ref: SessionRef) => Effect.scoped(Effect.map(open(ref), (reader) => reader.header))

export const lines = (ref: SessionRef) =>
  Stream.unwrap(Effect.map(open(ref), (reader) => reader.lines.pipe(Stream.mapError(asFileError(ref.path, "read")))))

export const read = (ref: SessionRef) =>
  Effect.scoped(
    Effect.flatMap(open(ref), (reader) => reader.session.pipe(Effect.mapError(asFileError(ref.path, "read"))))
  )
