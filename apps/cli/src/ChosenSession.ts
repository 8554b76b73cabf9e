/** The session of a command, and an entry in it that a flag names. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as EntryReference from "@pi-sessions/report/EntryReference"
import * as EngineLimit from "@pi-sessions/session-file/EngineLimit"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { UsageError } from "./Exit.ts"
import * as Interruption from "./Interruption.ts"
import * as SessionPicker from "./SessionPicker.ts"

export interface ReadSession {
  readonly ref: CatalogSession
  readonly session: Session.Session
}

/** Reads the session that was named or is chosen now. */
export const read = Effect.fnUntraced(function* (reference: Option.Option<string>) {
  const ref = yield* SessionPicker.choose(reference)
  const source = yield* SessionSource
  const session = yield* source.read(ref).pipe(EngineLimit.named(ref.path))
  yield* Interruption.point
  return { ref, session } satisfies ReadSession
})

/** The id of the entry with this id or start of an id; undefined without a reference. */
export const entryId = (tree: SessionTree, reference: Option.Option<string>) =>
  Option.match(reference, {
    onNone: () => Effect.succeed<string | undefined>(undefined),
    onSome: (given) =>
      Effect.fromResult(EntryReference.resolve(tree, given)).pipe(
        Effect.map((entry) => entry.id ?? undefined),
        Effect.mapError((error) => new UsageError({ text: error.message }))
      )
  })
