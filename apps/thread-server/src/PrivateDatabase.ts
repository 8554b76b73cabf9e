/**
 * Gives the database file mode 0600, whatever the umask, since its entries may be behind a token. This comes before SQLite
 * opens it, because SQLite gives the `-wal` and `-shm` files the database's mode. When it fails, the server does not start.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as PlatformError from "effect/PlatformError"
import { SqliteError } from "@pi-sessions/sqlite/Sqlite"

const MODE = 0o600
const OTHERS = 0o077
const MAGIC = "SQLite format 3\0"

/** Creates a missing file and removes the permissions of others. Does not change files that are not databases. */
export const prepare = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<void, SqliteError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const failed = (operation: string) => (error: PlatformError.PlatformError) =>
    new SqliteError({ path, operation, reason: reasonOf(error) })

  const isNew = yield* fs.open(path, { flag: "wx", mode: MODE }).pipe(
    Effect.as(true),
    Effect.scoped,
    Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false)),
    Effect.mapError(failed("make the database"))
  )
  // The umask may have removed the owner's permissions too.
  if (isNew) return yield* fs.chmod(path, MODE).pipe(Effect.mapError(failed("make the database")))
  // SQLite rejects other files.
  if (!(yield* isDatabase(path))) return
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const info = yield* Effect.option(fs.stat(file))
    if (info._tag === "None" || (info.value.mode & OTHERS) === 0) continue
    yield* fs.chmod(file, MODE).pipe(
      Effect.mapError(
        () =>
          new SqliteError({
            path: file,
            operation: "open the database for its owner alone",
            reason: `others may read it (mode ${(info.value.mode & 0o777).toString(8)}) and its mode cannot be changed. Run chmod 600 on it as its owner`
          })
      )
    )
  }
})

const isDatabase = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const beginning = yield* Effect.scoped(
    Effect.flatMap(fs.open(path, { flag: "r" }), (file) => file.readAlloc(MAGIC.length))
  ).pipe(Effect.option)
  if (beginning._tag === "None") return false
  // For SQLite an empty file is a new database.
  return beginning.value._tag === "None" || Buffer.from(beginning.value.value).toString("latin1") === MAGIC
})

const reasonOf = (error: PlatformError.PlatformError): string =>
  error.reason._tag === "NotFound"
    ? "its directory does not exist. Make the directory, or give another --db"
    : error.reason._tag === "PermissionDenied"
      ? "permission denied. Give another --db, or change the directory's permissions"
      : `${error.reason.message}. Give the path of a SQLite database, or of a file that is not there yet`
