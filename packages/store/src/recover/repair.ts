/** What recovery found, before it is mended. */
import type * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { type StoreDamaged, type StoreIoError } from "../StoreError.ts"

/** Something to be mended: what is told of it, and how. */
export interface Repair {
  readonly what: string
  readonly mend: Effect.Effect<void, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path>
}
