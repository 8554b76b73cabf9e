/** A repair that recovery plans. All are planned before the first one is carried out. */
import type * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { type StoreDamaged, type StoreIoError } from "../StoreError.ts"

/** A description for the ledger, and the repair itself. */
export interface Repair {
  readonly description: string
  readonly apply: Effect.Effect<void, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path>
}
