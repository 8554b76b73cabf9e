/** The facts that `store stat` prints about a store. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import { StoreIoError, StoreNotFound } from "@pi-sessions/store/StoreError"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import * as StoreReader from "@pi-sessions/store/StoreReader"
import { explain } from "@pi-sessions/session-file/SessionFileError"
import { type FoundStore } from "../StoreSearch.ts"

export interface StoreStat {
  readonly sessionId: string
  /** Null if the manifest is missing or damaged. */
  readonly state: string | null
  readonly active: { readonly format: string; readonly path: string } | null
  /** Entries without the session's header. */
  readonly entries: number
  readonly segments: number
  readonly bytes: {
    /** The session's JSONL. */
    readonly payload: number
    readonly segments: number
    readonly index: number
    /** All files of the container. */
    readonly disk: number
  }
  /** The newest sound checkpoint; `behind`: entries after it. */
  readonly checkpoint: {
    readonly number: number
    readonly entries: number
    readonly behind: number
    readonly at: string
  } | null
  readonly ledger: {
    readonly events: number
    readonly last: {
      readonly phase: string
      readonly outcome: string
      readonly at: string
      readonly reason: string | null
    } | null
  }
  /** Why the end of the store cannot be read; null if it ends with a whole entry. */
  readonly trailing: string | null
}

/** Number and bytes of the files below a directory; 0 if it is missing. */
const diskBytes = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = yield* fs
    .readDirectory(directory, { recursive: true })
    .pipe(Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed<ReadonlyArray<string>>([])))
  let total = 0
  let files = 0
  for (const name of names) {
    const info = yield* fs.stat(path.join(directory, name))
    if (info.type !== "File") continue
    total += Number(info.size)
    files++
  }
  return { total, files }
})

/** Reads the whole session once, to count its bytes. */
export const stat = Effect.fnUntraced(function* ({ location, container }: FoundStore) {
  const path = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  const sessionStore = yield* SessionStore
  const migration = yield* StoreMigration
  const layout = StoreLayout.of(path, container)
  if (!(yield* fs.exists(container).pipe(Effect.orElseSucceed(() => true)))) {
    return yield* new StoreNotFound({ path: container })
  }
  const failed = (error: Parameters<typeof explain>[0]) =>
    new StoreIoError({ path: container, operation: "read", reason: explain(error) })
  const active = yield* sessionStore.active(location)
  const events = yield* migration.ledger(location)
  const last = events.at(-1)
  const read = Effect.gen(function* () {
    const reader = yield* StoreReader.open(layout)
    const payload = yield* Stream.runFold(
      reader.payloads,
      () => 0,
      (total, pieces) => pieces.reduce((sum, piece) => sum + piece.length, total)
    )
    const { checkpoint } = reader
    return {
      state: reader.state ?? null,
      entries: reader.entryCount,
      payload,
      trailing: reader.trailing?.reason ?? null,
      checkpoint:
        checkpoint === undefined
          ? null
          : {
              number: checkpoint.checkpoint_seq,
              entries: checkpoint.entry_count,
              behind: reader.entryCount - checkpoint.entry_count,
              at: checkpoint.created_at
            }
    }
  })
  const { state, entries, payload, checkpoint, trailing } = yield* Effect.scoped(read)
  const segments = yield* diskBytes(layout.segments).pipe(Effect.mapError(failed))
  const index = yield* diskBytes(layout.index).pipe(Effect.mapError(failed))
  const disk = yield* diskBytes(container).pipe(Effect.mapError(failed))
  return {
    sessionId: location.sessionId,
    state,
    active:
      active === undefined ? null : { format: active.active, path: path.resolve(location.directory, active.path) },
    entries,
    segments: segments.files,
    bytes: { payload, segments: segments.total, index: index.total, disk: disk.total },
    checkpoint,
    ledger: {
      events: events.length,
      last: last === undefined ? null : { phase: last.phase, outcome: last.outcome, at: last.at, reason: last.reason }
    },
    trailing
  } satisfies StoreStat
})
