/** Checks the migration ledger: every line is a whole event, and the container's migration is completed. */
import * as Effect from "effect/Effect"
import * as MigrationLedger from "../MigrationLedger.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import type * as Manifest from "../wire/Manifest.ts"
import { type Report } from "./findings.ts"

export const check = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest | undefined,
  report: Report
) {
  const ledger = yield* MigrationLedger.read(layout)
  for (const { byteOffset, reason } of ledger.skipped) {
    report(null, layout.ledger, byteOffset, `the event on this line is lost: ${reason}`)
  }
  if (ledger.trailingBytes > 0) report(null, layout.ledger, ledger.byteLength, "a line that is no whole event")
  if (manifest === undefined || manifest.correlation_id === null) return
  const isMade = !["MIGRATION_STAGING", "FAILED", "ROLLED_BACK"].includes(manifest.state)
  if (isMade && !MigrationLedger.isCompleted(ledger.events, manifest.correlation_id)) {
    report(
      null,
      layout.ledger,
      ledger.byteLength,
      "the ledger does not have the end of the migration that made this container"
    )
  }
})
