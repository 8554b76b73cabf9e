/** The state of a session's store: container, checkpoint, migration ledger and broken invariants. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as MigrationLedger from "@pi-sessions/store/MigrationLedger"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import * as StoreReader from "@pi-sessions/store/StoreReader"
import { MOST_AT_ONCE } from "../ViewLimits.ts"
import { type StoreHealth } from "../ViewModel.ts"
import { type Redact } from "./ListedSessions.ts"

/** Null if there is no container for the session. */
export const storeHealth = Effect.fnUntraced(function* (ref: CatalogSession, text: Redact) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (!StoreLayout.isSafeId(ref.id)) return null
  const location = { directory: path.dirname(ref.path), sessionId: ref.id }
  const { container } = StoreLayout.names(path, location)
  if (!(yield* Effect.orElseSucceed(fs.exists(container), () => false))) return null
  return yield* readHealth(location, container, text).pipe(
    Effect.catch(({ message }) => Effect.succeed(unreadable(text(container), text(message))))
  )
})

const readHealth = Effect.fnUntraced(function* (
  location: { readonly directory: string; readonly sessionId: string },
  container: string,
  text: Redact
) {
  const store = yield* SessionStore
  const layout = StoreLayout.of(yield* Path.Path, container)
  const active = yield* store.active(location)
  const ledger = yield* MigrationLedger.read(layout)
  const verified = yield* store.verify(location)
  const checkpoint = yield* Effect.scoped(Effect.map(StoreReader.open(layout), (reader) => reader.checkpoint)).pipe(
    Effect.orElseSucceed(() => undefined)
  )
  return {
    container: text(container),
    state: verified.state ?? null,
    active: active === undefined ? null : { format: active.active, path: text(active.path) },
    entries: verified.entryCount,
    segments: verified.segmentCount,
    checkpoint:
      checkpoint === undefined
        ? null
        : {
            number: checkpoint.checkpoint_seq,
            entries: checkpoint.entry_count,
            behind: verified.entryCount - checkpoint.entry_count,
            at: checkpoint.created_at
          },
    ledger: ledger.events.slice(-MOST_AT_ONCE).map(({ at, outcome, phase, reason }) => {
      return { at, outcome, phase, reason: reason === null ? null : text(reason) }
    }),
    findings: verified.findings
      .slice(0, MOST_AT_ONCE)
      .map(({ invariant, message }) => ({ invariant, message: text(message) }))
  } satisfies StoreHealth
})

const unreadable = (container: string, problem: string): StoreHealth => ({
  container,
  state: null,
  active: null,
  entries: 0,
  segments: 0,
  checkpoint: null,
  ledger: [],
  findings: [],
  problem
})
