/** Databases of lines among the files of a directory. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { namesSession, pageBytesOf } from "./firstPage.ts"

const CONTAINER = /\.v2(\.(staging|retired)-[0-9]+)?$/

/**
 * Every `*.sqlite` below directories, at any depth, that has the table of a session; none is opened as a database. What
 * cannot be looked into is left out: the listing of session files looked at the same places, and tells.
 */
export const databasesBelow = Effect.fn("StoreSource.databasesBelow")(function* (
  paths: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<SessionRef>, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found: Array<SessionRef> = []
  const entered = new Set<string>()

  const typeOf = (at: string) =>
    fs.stat(at).pipe(
      Effect.map((info) => info.type),
      Effect.orElseSucceed(() => "Unknown")
    )

  const directory = Effect.fnUntraced(function* (at: string): Effect.fn.Return<void, never, FileSystem.FileSystem> {
    const real = yield* Effect.option(fs.realPath(at))
    if (Option.isNone(real) || entered.has(real.value)) return
    entered.add(real.value)
    const names = yield* Effect.orElseSucceed(fs.readDirectory(at), () => [])
    for (const name of names.sort()) {
      const child = path.join(at, name)
      if (name.endsWith(".sqlite")) yield* file(child)
      else if (isEntered(name) && (yield* typeOf(child)) === "Directory") yield* directory(child)
    }
  })

  const file = Effect.fnUntraced(function* (at: string) {
    if (path.basename(at) === "session-index.sqlite") return
    const info = yield* Effect.option(fs.stat(at))
    if (Option.isNone(info) || info.value.type !== "File" || !(yield* hasTable(at))) return
    const modifiedMs = Option.match(info.value.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
    found.push({ path: at, sizeBytes: Number(info.value.size), modifiedMs })
  })

  for (const given of paths) yield* directory(path.resolve(given))
  return found
})

/** Containers have no sessions in them, and a link by the name of Pi's credentials is left alone like the file. */
const isEntered = (name: string): boolean =>
  !CONTAINER.test(name) && name !== PiEnvironment.CREDENTIALS && !name.endsWith(".jsonl")

/** A page of an SQLite database has no more bytes. */
const PAGE_BYTES = 1 << 16

const hasTable = Effect.fnUntraced(
  function* (at: string) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(at)
    const bytes = yield* file.readAlloc(PAGE_BYTES)
    if (Option.isNone(bytes)) return false
    const pageBytes = pageBytesOf(bytes.value)
    return pageBytes > 0 && namesSession(bytes.value.subarray(0, pageBytes))
  },
  Effect.scoped,
  Effect.orElseSucceed(() => false)
)
