/**
 * The service that writes sessions. These layers write Pi's files (V1, JSONL). The target is compared first, and nothing
 * in it is lost: a target with more entries is kept; a target with other entries is an error, or with `force` is moved
 * aside.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { type PlatformError } from "effect/PlatformError"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import { peekHeader } from "@pi-sessions/core/SessionReader"
import * as SafeWrite from "./SafeWrite.ts"
import { modifiedMs } from "./internal/fileTime.ts"
import { type Comparison, compare } from "./internal/targetComparison.ts"
import { NotASession, SessionFileError, TargetDiverged, fromPlatform } from "./SessionFileError.ts"

export interface Written {
  /** Absolute path of the session file. */
  readonly path: string
  /**
   * `created`: there was no target. `extended`: the target had the beginning of the session. `unchanged`: it was equal.
   * `ahead`: it has the session and more, and was not changed. `replaced`: it was something else, now in `movedAside`.
   */
  readonly outcome: "created" | "extended" | "unchanged" | "ahead" | "replaced"
  readonly movedAside?: string
}

export class SessionTarget extends Context.Service<
  SessionTarget,
  {
    /**
     * Writes a session with a header. `force` (default: false) replaces a target with other entries. Safe when two
     * programs write at once.
     */
    readonly write: (
      session: Session.Session,
      options?: { readonly force?: boolean }
    ) => Effect.Effect<Written, SessionFileError | TargetDiverged | NotASession>
  }
>()("@pi-sessions/session-file/SessionTarget") {
  /** The file at `path`; creates missing directories. */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      SessionTarget,
      make(() => path)
    )

  /** A file in `directory`, with Pi's name for the header's timestamp and id. */
  static readonly layerDirectory = (directory: string) =>
    Layer.effect(
      SessionTarget,
      Effect.flatMap(Path.Path, (path) =>
        make((timestamp, id) => {
          const name = SessionPath.fileName(timestamp, id)
          // The header is untrusted: the path must stay in the directory.
          return /[/\\\0]/.test(name) ? undefined : path.join(directory, name)
        })
      )
    )
}

/** The path of the target for a session's header; undefined when they give no file name. */
type Locate = (timestamp: string, id: string) => string | undefined

interface WriteOptions {
  readonly force?: boolean
}

/** Attempts to write while other programs change the target. */
const ATTEMPTS = 5

const make = Effect.fnUntraced(function* (locate: Locate) {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  return SessionTarget.of({
    write: Effect.fn("SessionTarget.write")((session: Session.Session, options?: WriteOptions) =>
      write(locate, session, options).pipe(Effect.provide(services))
    )
  })
})

const write = Effect.fnUntraced(function* (
  locate: Locate,
  session: Session.Session,
  { force = false }: WriteOptions = {}
): Effect.fn.Return<Written, SessionFileError | TargetDiverged | NotASession, FileSystem.FileSystem | Path.Path> {
  const header = session.header?.decode()
  const id = header === undefined ? undefined : stringAt(header, "id")
  if (header === undefined || id === undefined) {
    return yield* new NotASession({ path: "the session to write", line: 1, byteOffset: 0 })
  }
  const target = yield* prepare(locate(stringAt(header, "timestamp") ?? "", id), id)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const found = yield* compare(target, session)
    const written =
      found._tag === "Diverged" && !force
        ? yield* diverged(target, id, found)
        : yield* writeOver(target, session, found).pipe(Effect.mapError(fromPlatform(target, "write")))
    if (written !== undefined) return { path: target, ...written }
  }
  return yield* new SessionFileError({
    path: target,
    operation: "write",
    reason: "another program keeps writing to it; stop it and try again"
  })
})

/** Creates the directory of the target. Returns the target's real path: a link is written through, not replaced. */
const prepare = Effect.fnUntraced(function* (
  located: string | undefined,
  id: string
): Effect.fn.Return<string, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (located === undefined) {
    return yield* new SessionFileError({
      path: "a file named after the session",
      operation: "write",
      reason: `its id ${JSON.stringify(id)} or its timestamp holds a path separator; give the file a name yourself`
    })
  }
  const named = path.resolve(located)
  const directory = path.dirname(named)
  yield* fs.makeDirectory(directory, { recursive: true }).pipe(Effect.mapError(fromPlatform(named, "write")))
  return yield* fs.realPath(named).pipe(
    // A link to a file that does not exist yet.
    Effect.catch(() => Effect.map(fs.readLink(named), (link) => path.resolve(directory, link))),
    Effect.orElseSucceed(() => named)
  )
})

/** Writes the session over a target that was compared; undefined when the target changed since. */
const writeOver = Effect.fnUntraced(function* (
  target: string,
  session: Session.Session,
  found: Comparison
): Effect.fn.Return<Omit<Written, "path"> | undefined, PlatformError, FileSystem.FileSystem | Path.Path> {
  const put = (mode: "create" | "replace") => SafeWrite.write(target, Session.print(session.lines), mode)
  switch (found._tag) {
    case "Same":
      return { outcome: "unchanged" }
    case "Ahead":
      return { outcome: "ahead" }
    case "Absent":
      return (yield* unlessThere(put("create"))) ? { outcome: "created" } : undefined
    case "Behind": {
      const fs = yield* FileSystem.FileSystem
      const now = yield* fs.stat(target)
      if (Number(now.size) !== found.sizeBytes || modifiedMs(now) !== found.modifiedMs) return undefined
      yield* put("replace")
      return { outcome: "extended" }
    }
    case "Diverged": {
      const movedAside = yield* keepAside(target)
      yield* put("replace")
      return { outcome: "replaced", movedAside }
    }
  }
})

const diverged = Effect.fnUntraced(function* (
  target: string,
  id: string,
  at: { readonly line: number; readonly byteOffset: number }
): Effect.fn.Return<never, SessionFileError | TargetDiverged, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const head = yield* Effect.scoped(
    Effect.flatMap(fs.open(target, { flag: "r" }), (file) => file.readAlloc(1 << 20))
  ).pipe(Effect.mapError(fromPlatform(target, "read")))
  const header = peekHeader(Option.getOrElse(head, () => new Uint8Array(0)))?.decode()
  const why = header === undefined ? "not-a-session" : header["id"] === id ? "diverged" : "another-session"
  return yield* new TargetDiverged({ path: target, why, line: at.line, byteOffset: at.byteOffset })
})

/** Links the target's file to the first free name beside it. */
const keepAside = Effect.fnUntraced(function* (
  target: string
): Effect.fn.Return<string, PlatformError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  for (let n = 1; ; n++) {
    const aside = `${target}.aside-${n}`
    if (yield* unlessThere(fs.link(target, aside))) return aside
  }
})

/** Runs work that creates a file; false when the file exists. */
const unlessThere = <R>(work: Effect.Effect<void, PlatformError, R>): Effect.Effect<boolean, PlatformError, R> =>
  work.pipe(
    Effect.as(true),
    Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false))
  )
