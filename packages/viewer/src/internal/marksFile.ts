/** Reads and writes the file of marks. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Marks from "@pi-sessions/samples/Marks"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import { markKey } from "../MarkKey.ts"
import type * as ViewModel from "../ViewModel.ts"

/** The marks by what they are on; none if the file does not exist. */
export const readMarks = (file: string) => Effect.map(Marks.readOrNone(file), flat)

/** Another viewer that uses the same file holds the lock for milliseconds. */
const untilFree = { schedule: Schedule.spaced("20 millis"), times: 500 }

/** Sets or removes a mark under the file's lock; returns all marks. */
export const setMark = Effect.fnUntraced(function* (file: string, { entry, mark, session }: ViewModel.MarkRequest) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const lock = yield* StoreLock
  yield* fs.makeDirectory(path.dirname(file), { recursive: true })
  yield* lock.acquire(`${file}.lock`).pipe(Effect.retry({ ...untilFree, while: ({ _tag }) => _tag === "StoreLocked" }))
  const after = Marks.set(yield* Marks.readOrNone(file), session, entry, mark)
  yield* Marks.write(file, after)
  return flat(after)
}, Effect.scoped)

/** By session id, and by `session id/entry id`. */
const flat = ({ sessions }: Marks.Marks): ViewModel.Marks =>
  Object.fromEntries(
    Object.entries(sessions).flatMap(([id, { entries = {}, session }]) => [
      ...(session === undefined ? [] : [[id, session] as const]),
      ...Object.entries(entries).map(([entry, mark]) => [markKey(id, entry), mark] as const)
    ])
  )
