/** What the doctor finds in a session, and how its store stands. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as SessionDoctor from "@pi-sessions/catalog/SessionDoctor"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as MigrationLedger from "@pi-sessions/store/MigrationLedger"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import * as StoreReader from "@pi-sessions/store/StoreReader"
import { type SessionHealth, type StoreHealth } from "../ViewModel.ts"

/** More of a list than anybody reads. */
const LISTED = 500

type Text = (text: string) => string

/** Where `problem` says why it is not read whole, nobody looks for damage. */
export const sessionHealth = Effect.fnUntraced(function* (
  key: string,
  ref: CatalogSession,
  redactor: Redactor | undefined,
  problem: string | undefined
): Effect.fn.Return<SessionHealth, never, FileSystem.FileSystem | Path.Path | SessionSource | SessionStore> {
  const scope = redactor?.scope([ref.path, ref.cwd])
  const text: Text = (value) => scope?.text(value) ?? value
  const store = yield* storeHealth(ref, text)
  const none = { key, findings: [], store }
  if (problem !== undefined) return { ...none, problem }
  return yield* findingsOf(ref, text).pipe(
    Effect.map((findings) => ({ ...none, findings })),
    Effect.catch(({ message }) => Effect.succeed({ ...none, problem: text(message) })),
    Effect.catchDefect((defect) => Effect.succeed({ ...none, problem: text(String(defect)) }))
  )
})

const findingsOf = Effect.fnUntraced(function* (ref: CatalogSession, text: Text) {
  const source = yield* SessionSource
  const session = yield* source.read(ref)
  return SessionDoctor.examine(session)
    .slice(0, LISTED)
    .map(({ code, entryId, line, mend, message, pi, severity }) => ({
      severity,
      code,
      line,
      ...(entryId === undefined ? {} : { entryId }),
      message: text(message),
      pi078: `${pi["0.78"].does}: ${text(pi["0.78"].says)}`,
      pi15: `${pi["1.5"].does}: ${text(pi["1.5"].says)}`,
      mend: mend === null ? null : text(mend)
    }))
})

/** Null where the session never had a container beside it. */
const storeHealth = Effect.fnUntraced(function* (ref: CatalogSession, text: Text) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = path.dirname(ref.path)
  const location = { directory, sessionId: ref.id }
  if (!StoreLayout.isSafeId(ref.id)) return null
  const { container } = StoreLayout.names(path, location)
  if (!(yield* Effect.orElseSucceed(fs.exists(container), () => false))) return null
  const layout = StoreLayout.of(path, container)
  const store = yield* SessionStore
  const read = Effect.gen(function* () {
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
      ledger: ledger.events.slice(-LISTED).map(({ at, outcome, phase, reason }) => {
        return { at, outcome, phase, reason: reason === null ? null : text(reason) }
      }),
      findings: verified.findings
        .slice(0, LISTED)
        .map(({ invariant, message }) => ({ invariant, message: text(message) }))
    } satisfies StoreHealth
  })
  return yield* read.pipe(
    Effect.catch(({ message }) =>
      Effect.succeed<StoreHealth>({
        container: text(container),
        state: null,
        active: null,
        entries: 0,
        segments: 0,
        checkpoint: null,
        ledger: [],
        findings: [],
        problem: text(message)
      })
    )
  )
})
