/** Options, results and errors of migration and rollback. */
import type * as Effect from "effect/Effect"
import {
  type EntryRefused,
  type MarkerLost,
  type MigrationRefused,
  type StoreFailed,
  type StoreLocked,
  type StoreNotActive,
  type StoreNotFound,
  type VerificationFailed
} from "../StoreError.ts"
import { type StoreLocation } from "../StoreLayout.ts"
import { type ReadError } from "../StoreReader.ts"
import { type ForeignFormat } from "./foreignStore.ts"
import { type SourceChange } from "./sourceChange.ts"

/** Options of a migration. */
export interface MigrateOptions {
  /** Format of the source. Default: `jsonl_v3`. */
  readonly format?: ForeignFormat
  /** As in `WriterOptions`. */
  readonly segmentBytes?: number
  /** Called with the number of source bytes that the container holds so far. */
  readonly onProgress?: (bytes: number) => Effect.Effect<void>
}

/** Result of a migration. */
export interface Migrated {
  readonly location: StoreLocation
  /**
   * `already`: the container was the active store before. `superseded`: the session's active store is another one than
   * this file, for example the file of a later rollback; nothing was changed.
   */
  readonly outcome: "migrated" | "already" | "superseded"
  /** Without the session's header. */
  readonly entryCount: number
  readonly byteLength: number
  readonly correlationId: string | null
  /** Bytes appended to the source since it was migrated; 0 unless another program still writes to it. */
  readonly sourceGrewBy: number
  /** Change of this file since it was migrated, or since it was the active store. */
  readonly sourceChanged: SourceChange
}

/** Options of a rollback. */
export interface RollbackOptions {
  /** Format to go back to. Default: the format of the source. */
  readonly format?: ForeignFormat
  /** Recorded in the ledger. */
  readonly reason?: string
}

/** Result of a rollback. */
export interface RolledBack {
  /** Absolute path of the store that is active now. */
  readonly path: string
  readonly format: ForeignFormat
  /** False when the source already held every entry and became the active store again. */
  readonly exported: boolean
  /** Change of the migrated file since its migration. That file is left as it is; the change is not in the active store. */
  readonly sourceChanged: SourceChange
  /** Without the session's header. */
  readonly entryCount: number
  readonly correlationId: string
}

export type MigrateError =
  | MigrationRefused
  | VerificationFailed
  | EntryRefused
  | ReadError
  | StoreLocked
  | StoreFailed
  | StoreNotFound
  | MarkerLost

export type RollbackError = Exclude<MigrateError, MigrationRefused | MarkerLost> | StoreNotActive
