/** The id that the ledger's events of one migration and of its rollback share. */
import { hash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type StoreLocation } from "../StoreLayout.ts"
import { type Snapshot } from "../wire/WireField.ts"

/** A new id, made from the session, its source and the time, so that two attempts differ. */
export const correlationIdOf = (location: StoreLocation, source: Snapshot) =>
  Effect.map(
    Clock.currentTimeMillis,
    (now) => `migration-${hash("sha256", `${location.sessionId} ${source.snapshot_id} ${now}`, "hex").slice(0, 16)}`
  )
