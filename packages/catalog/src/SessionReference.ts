/**
 * Finds the session that a reference names. A reference is a path (it contains / or \, ends in .jsonl, or exists), a
 * session id, a prefix of an id, or a prefix of a file name.
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { nameOf } from "@pi-sessions/core/FileName"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type CatalogSession } from "./CatalogSession.ts"
import { SessionCatalog } from "./SessionCatalog.ts"
import { type DiscoveryOptions } from "./SessionDiscovery.ts"

/** Candidates in an error message. */
const LISTED = 10

/** No session matches the reference. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  reference: Schema.String,
  /** The path, or the directories that were searched. */
  searched: Schema.Array(Schema.String),
  /** Number of sessions found there. */
  found: Schema.Int,
  /** Why the file at the path is not a session. */
  reason: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const { found, reason, reference, searched } = this
    if (reason !== undefined) return `${reference}: ${reason}`
    const where = searched.length === 0 ? "there is no directory of sessions" : `searched ${searched.join(", ")}`
    const none = `no session ${JSON.stringify(reference)}: ${where}, with ${found} ${found === 1 ? "session" : "sessions"}`
    return `${none}. Give a path, an id or its beginning; see pi-sessions list`
  }
}

/** Several sessions match the reference. */
export class AmbiguousSession extends Schema.TaggedError<AmbiguousSession>()("AmbiguousSession", {
  reference: Schema.String,
  candidates: Schema.Array(Schema.declare((value): value is CatalogSession => typeof value === "object"))
}) {
  override get message(): string {
    const listed = this.candidates.slice(0, LISTED).map(describe)
    const more = this.candidates.length - listed.length
    const [first] = this.candidates
    const isOneId = this.candidates.every(({ id }) => id === first?.id)
    const advice = isOneId ? "they have one id, so give the path" : "give more of the id, or the path"
    return [
      `${JSON.stringify(this.reference)} may be one of ${this.candidates.length} sessions; ${advice}:`,
      ...listed.map((line) => `  ${line}`),
      ...(more > 0 ? [`  and ${more} more`] : [])
    ].join("\n")
  }
}

const describe = ({ cwd, id, path, timestamp }: CatalogSession): string =>
  [id, timestamp, cwd, path].filter((part) => part !== "").join("  ")

const isPath = (reference: string): boolean => /[/\\]/.test(reference) || reference.endsWith(".jsonl")

/** The session that matches the reference. Relative paths start from `options.cwd`. */
export const resolve = Effect.fn("SessionReference.resolve")(function* (
  reference: string,
  options: DiscoveryOptions = {}
): Effect.fn.Return<
  CatalogSession,
  SessionNotFound | AmbiguousSession | SessionFileError | Config.ConfigError,
  SessionCatalog | FileSystem.FileSystem | Path.Path
> {
  if (reference === "")
    return yield* new SessionNotFound({ reference, searched: [], found: 0, reason: "an empty name" })
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const catalog = yield* SessionCatalog
  const at = path.resolve(options.cwd ?? ".", reference)
  if (isPath(reference) || (yield* Effect.orElseSucceed(fs.exists(at), () => false))) {
    const { others, sessions } = yield* catalog.list({ ...options, sessions: [reference] })
    const other = others.find((one) => one.path === at) ?? others[0]
    if (sessions.length === 0 && other?.why === "unread") {
      return yield* new SessionFileError({ path: other.path, operation: "read", reason: other.reason })
    }
    const advice = other?.path === at ? `; pi-sessions doctor ${reference} shows what is in it` : ""
    const reason = `${other?.reason ?? "no session in it"}${advice}`
    return yield* oneOf(reference, sessions, { reference, searched: [at], found: sessions.length, reason })
  }
  const { roots, sessions } = yield* catalog.list(options)
  return yield* oneOf(reference, named(reference, sessions), {
    reference,
    searched: roots.map((root) => root.path),
    found: sessions.length
  })
})

/** The sessions whose id is the reference; else those whose id, else those whose file name starts with it. */
export const named = (reference: string, sessions: ReadonlyArray<CatalogSession>): ReadonlyArray<CatalogSession> => {
  const rules = [
    ({ id }: CatalogSession) => id === reference,
    ({ id }: CatalogSession) => id.startsWith(reference),
    ({ path }: CatalogSession) => nameOf(path).startsWith(reference)
  ]
  for (const rule of rules) {
    const found = sessions.filter(rule)
    if (found.length > 0) return found
  }
  return []
}

const oneOf = (
  reference: string,
  candidates: ReadonlyArray<CatalogSession>,
  none: ConstructorParameters<typeof SessionNotFound>[0]
): Effect.Effect<CatalogSession, SessionNotFound | AmbiguousSession> => {
  const [first] = candidates
  if (first === undefined) return Effect.fail(new SessionNotFound(none))
  return candidates.length === 1 ? Effect.succeed(first) : Effect.fail(new AmbiguousSession({ reference, candidates }))
}
