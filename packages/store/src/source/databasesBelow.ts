/** Finds databases of lines in directories. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { fileRef } from "./fileRef.ts"
import { PAGE_BYTES_MAX, hasSession } from "./firstPage.ts"

const CONTAINER = /\.v2(\.(staging|retired)-[0-9]+)?$/

/** Whether a path names a database of lines. The index that other programs keep beside sessions is not one. */
export const isDatabase = (path: Path.Path, at: string): boolean =>
  at.endsWith(".sqlite") && path.basename(at) !== "session-index.sqlite"

/**
 * Every `*.sqlite` below directories, at any depth, that has the table of a session. None is opened as a database.
 * Unreadable places are left out, because the listing of session files reports them.
 */
export const databasesBelow = Effect.fn("StoreSource.databasesBelow")(function* (
  paths: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<SessionRef>, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found: Array<SessionRef> = []
  const entered = new Set<string>()

  const directory = Effect.fnUntraced(function* (at: string): Effect.fn.Return<void, never, FileSystem.FileSystem> {
    const real = yield* Effect.option(fs.realPath(at))
    if (Option.isNone(real) || entered.has(real.value)) return
    entered.add(real.value)
    const names = yield* Effect.orElseSucceed(fs.readDirectory(at), () => [])
    for (const name of names.sort()) {
      const child = path.join(at, name)
      if (!name.endsWith(".sqlite") && !isEntered(name)) continue
      const info = Option.getOrUndefined(yield* Effect.option(fs.stat(child)))
      if (!name.endsWith(".sqlite")) {
        if (info?.type === "Directory") yield* directory(child)
      } else if (info?.type === "File" && isDatabase(path, child) && (yield* isOfSession(child))) {
        found.push(fileRef(child, info))
      }
    }
  })

  for (const given of paths) yield* directory(path.resolve(given))
  return found
})

/** Containers hold no other sessions, and a link with the name of Pi's credentials is ignored like the file. */
const isEntered = (name: string): boolean =>
  !CONTAINER.test(name) && name !== PiEnvironment.CREDENTIALS && !name.endsWith(".jsonl")

const isOfSession = Effect.fnUntraced(
  function* (at: string) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(at)
    const bytes = yield* file.readAlloc(PAGE_BYTES_MAX)
    return Option.isSome(bytes) && hasSession(bytes.value, true) === true
  },
  Effect.scoped,
  Effect.orElseSucceed(() => false)
)
