/** The keys of stored parts. */
import { createHash } from "node:crypto"
import { type PlannedKin } from "../plan/DatasetPlan.ts"
import { identity } from "../plan/identity.ts"

/**
 * A key for each part of a group of kin. Equal keys mean equal parts. A key covers the settings, the session and the
 * sessions before it in the group, because their targets are not targets again.
 */
export const keysOf = (kin: PlannedKin, settings: string): ReadonlyArray<string> => {
  const hash = createHash("sha256").update(settings)
  return kin.map(({ session }) =>
    hash
      .update(`\0${identity(session.ref)}`)
      .copy()
      .digest("hex")
      .slice(0, 32)
  )
}
