/** The migration of one session file into its container. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import { type MigrateOptions, type SourceChange, StoreMigration } from "@pi-sessions/store/StoreMigration"
import { type FoundFile, type FoundStore, type Search, sessionIdOf, sizeOf } from "../StoreSearch.ts"
import { type Failure, attempt } from "../StoreServices.ts"

export interface Row {
  /** The session file, or the container if the file is gone. */
  readonly path: string
  /**
   * `refused`: damaged, or of another format version; `superseded`: another file or container of the session is active;
   * `not_a_session`: a file in a directory without a session.
   */
  readonly outcome: "migrated" | "already" | "refused" | "failed" | "superseded" | "not_a_session"
  readonly sessionId?: string
  readonly container?: string
  /** Entries without the session's header. */
  readonly entries?: number
  /** Size of the session. */
  readonly bytes?: number
  /** Bytes written to the file after it was migrated. */
  readonly sourceGrewBy?: number
  /** How the file changed after it was migrated. */
  readonly sourceChanged?: SourceChange
  readonly why?: string
  readonly message?: string
  readonly findings?: ReadonlyArray<{ readonly line: number; readonly byteOffset: number; readonly message: string }>
}

const failed = (path: string, { why, message }: Failure): Row => ({ path, outcome: "failed", why, message })

/** The row of a session that was migrated before, from `source` if that still exists. */
const already = Effect.fnUntraced(function* (store: FoundStore, source: FoundFile | undefined, migratedBytes: number) {
  const sessionStore = yield* SessionStore
  const migration = yield* StoreMigration
  const entries = yield* Effect.scoped(Effect.map(sessionStore.reader(store.location), (reader) => reader.entryCount))
  const bytes = source === undefined ? 0 : yield* sizeOf(source)
  const change = yield* migration.sourceChange(store.location)
  return {
    path: source?.path ?? store.container,
    outcome: "already",
    sessionId: store.location.sessionId,
    container: store.container,
    entries,
    bytes: migratedBytes,
    sourceGrewBy: change === "grown" ? bytes - migratedBytes : 0,
    sourceChanged: change === "gone" ? "no" : change
  } satisfies Row
})

/** The file that a container was last migrated from; undefined if it was not migrated. */
const migratedFrom = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation) {
  const path = yield* Path.Path
  const migration = yield* StoreMigration
  const events = yield* migration.ledger(location)
  const last = events.findLast(({ phase }) => phase === "planned" || phase === "completed")
  if (last === undefined || last.source === null || last.source.format === "native_v2") return undefined
  const { format, byte_length } = last.source
  const file = path.resolve(location.directory, last.source.path)
  return { path: file, format, bytes: byte_length, isComplete: last.phase === "completed" }
})

/** Migrates one session file, unless it was migrated before. */
export const migrateFile = Effect.fnUntraced(function* (file: FoundFile, onProgress: MigrateOptions["onProgress"]) {
  const path = yield* Path.Path
  const sessionStore = yield* SessionStore
  const migration = yield* StoreMigration
  const sessionId = yield* sessionIdOf(file)
  if (sessionId === undefined && !file.named) return { path: file.path, outcome: "not_a_session" } satisfies Row
  // The store refuses an id that cannot be part of a file name.
  if (sessionId !== undefined && StoreLayout.isSafeId(sessionId)) {
    const location = { directory: path.dirname(file.path), sessionId }
    const { container } = StoreLayout.names(path, location)
    const active = yield* sessionStore.active(location)
    const source = active?.active === "native_v2" ? yield* migratedFrom(location) : undefined
    const isSource = source?.path === file.path
    if (isSource && source.isComplete) return yield* already({ location, container, named: false }, file, source.bytes)
    // A migration that was interrupted at its cutover is undone first, by the store.
    const activePath = active === undefined || isSource ? file.path : path.resolve(location.directory, active.path)
    if (activePath !== file.path) {
      const message = `${file.path}: the active store of this session is ${activePath}, not this file`
      const known = (yield* sessionStore.inactive(location)).includes(file.path)
      return known && !file.named
        ? ({ path: file.path, outcome: "superseded", sessionId, message } satisfies Row)
        : failed(file.path, { why: "StoreNotActive", message })
    }
  }
  const options = { format: file.format, ...(onProgress === undefined ? {} : { onProgress }) }
  return yield* migration.migrate(file.path, options).pipe(
    Effect.map(({ location, outcome, entryCount, byteLength, sourceGrewBy, sourceChanged }): Row => {
      const { container } = StoreLayout.names(path, location)
      // Another process migrated another file of the session meanwhile.
      if (outcome === "superseded") {
        const message = `${file.path}: another file of this session is its active store now`
        return failed(file.path, { why: "StoreNotActive", message })
      }
      const about = { sessionId: location.sessionId, container, entries: entryCount, bytes: byteLength }
      return { path: file.path, outcome, ...about, sourceGrewBy, sourceChanged }
    }),
    Effect.catchTag("MigrationRefused", ({ _tag: why, findings, message }) =>
      Effect.succeed<Row>({ path: file.path, outcome: "refused", why, message, findings })
    )
  )
})

/**
 * What to migrate after a search: its files, and the file of each container or marker. A container without a file becomes
 * a row of the result.
 */
export const candidates = Effect.fnUntraced(function* (found: Search) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const sessionStore = yield* SessionStore
  const files = new Map(found.files.map((file) => [file.path, file]))
  const rows: Array<Row> = []
  for (const store of found.stores) {
    const result = yield* attempt(
      Effect.gen(function* () {
        const active = yield* sessionStore.active(store.location)
        // Without a marker the container never was active, or lost its marker: migrating its file decides.
        const source =
          active === undefined || active.active === "native_v2" ? yield* migratedFrom(store.location) : undefined
        if (active !== undefined && active.active !== "native_v2") {
          const file = path.resolve(store.location.directory, active.path)
          if (!files.has(file)) files.set(file, { path: file, format: active.active, named: store.named })
          return
        }
        if (source !== undefined && (yield* fs.exists(source.path))) {
          const { path, format } = source
          if (!files.has(path)) files.set(path, { path, format, named: store.named })
          return
        }
        rows.push(yield* already(store, undefined, source?.bytes ?? 0))
      })
    )
    if (result._tag === "Failure") rows.push(failed(store.container, result.failure))
  }
  return { files: [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), rows }
})

/** `migrateFile` with errors as rows. */
export const migrateOne = (file: FoundFile, onProgress?: MigrateOptions["onProgress"]) =>
  Effect.map(attempt(migrateFile(file, onProgress)), (done): Row =>
    done._tag === "Success" ? done.success : failed(file.path, done.failure)
  )
