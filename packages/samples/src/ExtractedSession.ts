/**
 * A session as training data: the turns of its active branch, and metadata. The names are snake_case, as in dataset files;
 * see docs/adr/005-turns-and-roles.md.
 */
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { DropCounts } from "./DropCounts.ts"
import { ToolDefinition, ToolsSource } from "./ToolDefinition.ts"
import { Turn } from "./Turn.ts"

export const SessionMetadata = Schema.Struct({
  role: GasTown.Role,
  /** The name of a dog, crew member or polecat. */
  name: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  /** The town's root directory. */
  town: Schema.optionalKey(Schema.String),
  /** Gas Town address, such as `gastown/crew/max`. */
  address: Schema.optionalKey(Schema.String),
  role_source: GasTown.RoleSource,
  /** Present if working directory and beacon give different roles. */
  role_conflict: Schema.optionalKey(Schema.Struct({ cwd: GasTown.Role, beacon: GasTown.Role })),
  /** The latest on the branch, else the header's (pi-rust), else null. */
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  /** The latest on the branch, else the header's, else `off`. */
  thinking_level: Schema.String,
  /** Of the header, ISO 8601; empty if it has none. */
  timestamp: Schema.String,
  session_name: Schema.optionalKey(Schema.String),
  /** Path of the session file of which this one is a fork. */
  parent_session: Schema.optionalKey(Schema.String),
  /** Format version on disk. */
  version: Schema.Number,
  /** The last entry of the branch; null if it has none. The leaf, except after compactions (see SessionTurns.ts). */
  leaf_id: Schema.NullOr(Schema.String),
  entries: Schema.Struct({
    /** Entries of the file. */
    file: Schema.Int,
    /** Entries from the root to `leaf_id`. */
    branch: Schema.Int,
    /** Entries that give messages of the context. */
    context: Schema.Int
  }),
  /** Whether hydration wrote the session. No model gave its answers in this form, so they are not targets by default. */
  hydrated: Schema.Boolean,
  tools_source: ToolsSource,
  /** Number of results marked as errors. */
  tool_errors: Schema.Int,
  dropped: DropCounts
})
export type SessionMetadata = typeof SessionMetadata.Type

export const ExtractedSession = Schema.Struct({
  session_id: Schema.String,
  source_path: Schema.String,
  /** The working directory; empty if the header has none. */
  cwd: Schema.String,
  turns: Schema.Array(Turn),
  /** The tools of the request, as far as they are known (`tools_source`). */
  tools: Schema.Array(ToolDefinition),
  metadata: SessionMetadata
})
export type ExtractedSession = typeof ExtractedSession.Type
