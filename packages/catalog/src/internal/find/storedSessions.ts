/** Lists the sessions in containers and databases, by opening each for its header. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, type SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { type CatalogSession, type SessionFormat, columnsOf } from "../../CatalogSession.ts"
import { type Listed, identifyDatabases, oneForEachFile } from "./identifyFiles.ts"

type Source = SessionSource["Service"]

/** The containers that are the active store of their session, and the files that they replaced. */
export const inContainers = Effect.fnUntraced(function* (source: Source, containers: ReadonlyArray<string>) {
  const listed: Array<Listed> = []
  const superseded = new Map<string, ReadonlyArray<string>>()
  for (const container of yield* oneForEachFile(containers)) {
    const found = yield* StoreSource.containerRef(container).pipe(
      Effect.flatMap((ref) => (ref === undefined ? Effect.undefined : withColumns(source, ref, "native_v2"))),
      Effect.result
    )
    if (Result.isFailure(found)) listed.push({ path: container, reason: reasonOf(found.failure) })
    else if (found.success !== undefined) listed.push(found.success)
    superseded.set(container, yield* StoreSource.superseded(container))
  }
  return { listed, superseded }
})

/** The databases with a session, except those that containers replaced. */
export const inDatabases = Effect.fnUntraced(function* (
  source: Source,
  files: ReadonlyArray<string>,
  replaced: ReadonlySet<string>
) {
  const databases = (yield* oneForEachFile(files)).filter((file) => !replaced.has(file))
  return yield* Effect.forEach(yield* identifyDatabases(databases), (found) =>
    "reason" in found
      ? Effect.succeed<Listed>(found)
      : Effect.match(withColumns(source, found, "sqlite_v1"), {
          onSuccess: (session): Listed => session,
          onFailure: (error): Listed => ({ path: found.path, reason: reasonOf(error) })
        })
  )
})

const withColumns = (source: Source, ref: SessionRef, format: SessionFormat) =>
  Effect.map(source.header(ref), (header): CatalogSession => ({ ...ref, format, ...columnsOf(header.decode()) }))

const reasonOf = (error: { readonly message: string }): string =>
  error instanceof SessionFileError ? error.reason : "no line is a session header"
