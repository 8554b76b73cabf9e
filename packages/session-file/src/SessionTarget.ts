/**
 * Where a session goes to. The layers here write Pi's own files (V1, JSONL). A target is compared before it is
 * written, and what Pi or a person has put there is never lost: a file that is ahead is kept, a file that went another
 * way is refused, and with `force` it is moved aside, not overwritten.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import { peekHeader } from "@pi-sessions/core/SessionReader"
import * as SafeWrite from "./SafeWrite.ts"
import { NotASession, SessionFileError, TargetDiverged, fromPlatform } from "./SessionFileError.ts"

export interface Written {
  /** Absolute path of the session file. */
  readonly path: string
  /**
   * `created`: there was none; `extended`: the target held the beginning; `unchanged`: it held just this; `ahead`: it
   * holds this and more, and was left; `replaced`: it held something else, which was moved to `movedAside`.
   */
  readonly outcome: "created" | "extended" | "unchanged" | "ahead" | "replaced"
  readonly movedAside?: string
}

/** How a target relates to what would be written. */
type Comparison =
  | { readonly _tag: "Absent" }
  /** The target is a prefix; `sizeBytes` and `modifiedMs` tell whether it changed since. */
  | { readonly _tag: "Behind"; readonly sizeBytes: number; readonly modifiedMs: number }
  | { readonly _tag: "Same" }
  | { readonly _tag: "Ahead" }
  | { readonly _tag: "Diverged"; readonly line: number; readonly byteOffset: number }

export class SessionTarget extends Context.Service<
  SessionTarget,
  {
    /** Writes a session that has a header, by the rules above. Safe when two do so at once. */
    readonly write: (
      session: Session.Session,
      options?: { readonly force?: boolean }
    ) => Effect.Effect<Written, SessionFileError | TargetDiverged | NotASession>
  }
>()("@pi-sessions/session-file/SessionTarget") {
  /** The file at `path`; missing directories are made. */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      SessionTarget,
      make(() => path)
    )

  /** A file in `directory`, named by Pi's rule from the header's timestamp and id. */
  static readonly layerDirectory = (directory: string) =>
    Layer.effect(
      SessionTarget,
      Effect.flatMap(Path.Path, (path) =>
        make((timestamp, id) => {
          const name = SessionPath.fileName(timestamp, id)
          // A header may say anything; it must not lead out of the directory.
          return /[/\\\0]/.test(name) ? undefined : path.join(directory, name)
        })
      )
    )
}

const make = Effect.fnUntraced(function* (locate: (timestamp: string, id: string) => string | undefined) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()

  const write = Effect.fn("SessionTarget.write")(function* (
    session: Session.Session,
    options: { readonly force?: boolean } = {}
  ): Effect.fn.Return<Written, SessionFileError | TargetDiverged | NotASession> {
    const header = session.header?.decode()
    const id = header === undefined ? undefined : stringAt(header, "id")
    if (header === undefined || id === undefined) {
      return yield* new NotASession({ path: "the session to write", line: 1, byteOffset: 0 })
    }
    const located = locate(stringAt(header, "timestamp") ?? "", id)
    if (located === undefined) {
      return yield* new SessionFileError({
        path: "a file named after the session",
        operation: "write",
        reason: `its id ${JSON.stringify(id)} or its timestamp holds a path separator; give the file a name yourself`
      })
    }
    const named = path.resolve(located)
    yield* fs
      .makeDirectory(path.dirname(named), { recursive: true })
      .pipe(Effect.mapError(fromPlatform(named, "write")))
    // A link is written through, not replaced, also when it leads to a file that is not there yet.
    const target = yield* fs.realPath(named).pipe(
      Effect.catch(() => Effect.map(fs.readLink(named), (link) => path.resolve(path.dirname(named), link))),
      Effect.orElseSucceed(() => named)
    )
    const failed = fromPlatform(target, "write")

    // Someone else may create or extend the target between the look and the write: look again.
    for (let attempt = 0; attempt < 5; attempt++) {
      const found = yield* compare(target, session)
      switch (found._tag) {
        case "Same":
          return { path: target, outcome: "unchanged" }
        case "Ahead":
          return { path: target, outcome: "ahead" }
        case "Absent": {
          const created = yield* put(target, session, "create").pipe(
            Effect.as(true),
            Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false)),
            Effect.mapError(failed)
          )
          if (created) return { path: target, outcome: "created" }
          break
        }
        case "Behind": {
          const now = yield* fs.stat(target).pipe(Effect.mapError(failed))
          if (Number(now.size) !== found.sizeBytes || modifiedMs(now) !== found.modifiedMs) break
          yield* put(target, session, "replace").pipe(Effect.mapError(failed))
          return { path: target, outcome: "extended" }
        }
        case "Diverged": {
          if (options.force !== true) return yield* diverged(target, id, found)
          const movedAside = yield* keepAside(target).pipe(Effect.mapError(failed))
          yield* put(target, session, "replace").pipe(Effect.mapError(failed))
          return { path: target, outcome: "replaced", movedAside }
        }
      }
    }
    return yield* new SessionFileError({
      path: target,
      operation: "write",
      reason: "another program keeps writing to it; stop it and try again"
    })
  })

  const put = (target: string, session: Session.Session, mode: "create" | "replace") =>
    SafeWrite.write(target, Session.print(session.lines), mode).pipe(Effect.provide(services))

  const compare = Effect.fnUntraced(function* (
    target: string,
    session: Session.Session
  ): Effect.fn.Return<Comparison, SessionFileError> {
    const failed = fromPlatform(target, "read")
    const info = yield* fs.stat(target).pipe(
      Effect.map(Option.some),
      Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(Option.none<FileSystem.File.Info>())),
      Effect.mapError(failed)
    )
    if (Option.isNone(info)) return { _tag: "Absent" }
    if (info.value.type !== "File") {
      return yield* new SessionFileError({ path: target, operation: "write", reason: "it is not a regular file" })
    }
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(target, { flag: "r" })
        const buffer = new Uint8Array(1 << 20)
        let byteOffset = 0
        let line = 1
        for (const piece of Session.print(session.lines)) {
          for (let from = 0; from < piece.length;) {
            const read = yield* file.read(buffer.subarray(0, Math.min(buffer.length, piece.length - from)))
            if (read === 0) {
              return {
                _tag: "Behind" as const,
                sizeBytes: byteOffset,
                modifiedMs: modifiedMs(info.value)
              }
            }
            for (let i = 0; i < read; i++, byteOffset++) {
              const expected = piece[from + i]
              if (buffer[i] !== expected) return { _tag: "Diverged" as const, line, byteOffset }
              if (expected === 0x0a) line++
            }
            from += read
          }
        }
        const more = yield* file.read(buffer.subarray(0, 1))
        return more === 0 ? { _tag: "Same" as const } : { _tag: "Ahead" as const }
      })
    ).pipe(Effect.mapError(failed))
  })

  const diverged = Effect.fnUntraced(function* (
    target: string,
    id: string,
    at: { readonly line: number; readonly byteOffset: number }
  ): Effect.fn.Return<never, SessionFileError | TargetDiverged> {
    const head = yield* Effect.scoped(
      Effect.flatMap(fs.open(target, { flag: "r" }), (file) => file.readAlloc(1 << 20))
    ).pipe(Effect.mapError(fromPlatform(target, "read")))
    const header = peekHeader(Option.getOrElse(head, () => new Uint8Array(0)))?.decode()
    const why = header === undefined ? "not-a-session" : header["id"] === id ? "diverged" : "another-session"
    return yield* new TargetDiverged({ path: target, why, line: at.line, byteOffset: at.byteOffset })
  })

  /** Gives the target's bytes a second name beside it, the first one that is free. */
  const keepAside = Effect.fnUntraced(function* (target: string) {
    for (let n = 1; ; n++) {
      const aside = `${target}.aside-${n}`
      const linked = yield* fs.link(target, aside).pipe(
        Effect.as(true),
        Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false))
      )
      if (linked) return aside
    }
  })

  return SessionTarget.of({ write })
})

const modifiedMs = (info: FileSystem.File.Info): number =>
  Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
