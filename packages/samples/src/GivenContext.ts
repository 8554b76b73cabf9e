/**
 * System prompts and tools that a person gives, for sessions that hold none: Pi 0.78 writes neither into the session. System
 * prompts may be given for each role. A sample says where they come from (`system_source: file`, `tools_source: given`);
 * what its session or a thread holds is never replaced.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type ToolDefinition } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"

export interface GivenContext {
  /** By role; `*` for all roles that have none of their own. */
  readonly system: ReadonlyMap<GasTown.Role | "*", string>
  /** Undefined: those of the session or of a thread, else those that were called. Used by SampleCut.ts. */
  readonly tools?: ReadonlyArray<ToolDefinition>
}

/** The sample with the system prompt that is given, where it has none. */
export const withSystem = (sample: TrainingSample, { system }: GivenContext): TrainingSample => {
  const { metadata, turns } = sample
  const prompt = system.get(metadata.role) ?? system.get("*")
  if (prompt === undefined || metadata.system_source !== "none") return sample
  const turn = {
    role: "system" as const,
    content: WellFormed.text(prompt),
    tool_calls: [],
    tool_results: [],
    timestamp: "",
    uuid: "",
    metadata: {}
  }
  return {
    ...sample,
    turns: [turn, ...turns],
    first_target: sample.first_target + 1,
    metadata: { ...metadata, system_source: "file" }
  }
}
