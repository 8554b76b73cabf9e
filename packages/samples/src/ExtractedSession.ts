/**
 * A session as training data sees it: the turns of its active branch and who spoke where, under the names of seed 004.
 * Formats are projections of this record.
 */
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { DropCounts } from "./DropCounts.ts"
import { ToolDefinition, ToolsSource } from "./ToolDefinition.ts"
import { Turn } from "./Turn.ts"

export const SessionMetadata = Schema.Struct({
  role: GasTown.Role,
  /** Of a dog, crew member or polecat. */
  name: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  /** The town's root directory. */
  town: Schema.optionalKey(Schema.String),
  /** gt's address, such as `gastown/crew/max`. */
  address: Schema.optionalKey(Schema.String),
  role_source: GasTown.RoleSource,
  /** Working directory and beacon name different roles. */
  role_conflict: Schema.optionalKey(Schema.Struct({ cwd: GasTown.Role, beacon: GasTown.Role })),
  /** The last ones on the branch, else the header's (pi-rust), else null. */
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  /** The last one on the branch, else the header's, else `off`. */
  thinking_level: Schema.String,
  /** The header's, ISO 8601; empty when there is none. */
  timestamp: Schema.String,
  session_name: Schema.optionalKey(Schema.String),
  /** Path of the session file that this one was forked from. */
  parent_session: Schema.optionalKey(Schema.String),
  /** Version of the format as found on disk. */
  version: Schema.Number,
  /** The entry at which the context ends; null when there is none. The leaf, but see SessionTurns.ts on compactions. */
  leaf_id: Schema.NullOr(Schema.String),
  entries: Schema.Struct({
    /** In the whole file. */
    file: Schema.Int,
    /** From the root to `leaf_id`. */
    branch: Schema.Int,
    /** Those that reach the model. */
    context: Schema.Int
  }),
  /** Made by hydration: no model produced this text in this form, so it is never a training target. */
  hydrated: Schema.Boolean,
  /** Where the tool definitions come from. */
  tools_source: ToolsSource,
  /** Results that the tool called an error. */
  tool_errors: Schema.Int,
  dropped: DropCounts
})
export type SessionMetadata = typeof SessionMetadata.Type

export const ExtractedSession = Schema.Struct({
  session_id: Schema.String,
  source_path: Schema.String,
  /** The working directory; empty when the header has none. */
  cwd: Schema.String,
  turns: Schema.Array(Turn),
  /** The tools on offer, as far as they are known. */
  tools: Schema.Array(ToolDefinition),
  metadata: SessionMetadata
})
export type ExtractedSession = typeof ExtractedSession.Type
