/**
 * System prompts and tools from the user, for sessions that contain none: Pi 0.78 writes neither. They never replace those
 * of the session or a thread. Samples record their source (`system_source: file`, `tools_source: given`).
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { systemTurn } from "./SessionFacts.ts"
import { type ToolDefinition } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"

export interface GivenContext {
  /** By role; `*` for all other roles. */
  readonly system: ReadonlyMap<GasTown.Role | "*", string>
  /** Used by SampleCut.ts. Default: the tools that are called. */
  readonly tools?: ReadonlyArray<ToolDefinition>
}

/** Adds the given system prompt to a sample that has none. */
export const withSystem = (sample: TrainingSample, { system }: GivenContext): TrainingSample => {
  const { metadata, turns } = sample
  const prompt = system.get(metadata.role) ?? system.get("*")
  if (prompt === undefined || metadata.system_source !== "none") return sample
  return {
    ...sample,
    turns: [systemTurn(WellFormed.text(prompt), undefined), ...turns],
    first_target: sample.first_target + 1,
    metadata: { ...metadata, system_source: "file" }
  }
}
