/** The health of a session: findings of the doctor, and the state of its store. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as SessionDoctor from "@pi-sessions/catalog/SessionDoctor"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type SessionStore } from "@pi-sessions/store/SessionStore"
import { type ViewNotFound } from "../ViewError.ts"
import { MOST_AT_ONCE, TOO_LARGE, WHOLE_BYTES } from "../ViewLimits.ts"
import { type SessionHealth } from "../ViewModel.ts"
import { type ListedSessions, type Redact } from "./ListedSessions.ts"
import { storeHealth } from "./storeHealth.ts"

/** A session too large to be read whole has no findings, and `problem` says why. */
export const sessionHealth = Effect.fnUntraced(function* (
  listed: ListedSessions,
  key: string
): Effect.fn.Return<SessionHealth, ViewNotFound, FileSystem.FileSystem | Path.Path | SessionSource | SessionStore> {
  const ref = yield* listed.get(key)
  const text = listed.redact(ref.path, ref.cwd)
  const none = { key, findings: [], store: yield* storeHealth(ref, text) }
  if (ref.sizeBytes > WHOLE_BYTES) return { ...none, problem: TOO_LARGE }
  return yield* findingsOf(ref, text).pipe(
    Effect.map((findings) => ({ ...none, findings })),
    Effect.catch(({ message }) => Effect.succeed({ ...none, problem: text(message) })),
    Effect.catchDefect((defect) => Effect.succeed({ ...none, problem: text(String(defect)) }))
  )
})

const findingsOf = Effect.fnUntraced(function* (ref: CatalogSession, text: Redact) {
  const source = yield* SessionSource
  const session = yield* source.read(ref)
  return SessionDoctor.examine(session)
    .slice(0, MOST_AT_ONCE)
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
