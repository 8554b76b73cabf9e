/**
 * System prompts and tools that a person gives, for sessions that hold none: Pi 0.78 writes neither into the session. They
 * may be told for each role. A sample says that they come from a file; what its session holds is never replaced.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type ToolDefinition, type ToolsSource } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"

export interface GivenContext {
  /** By role; `*` for all roles that have none of their own. */
  readonly system: ReadonlyMap<GasTown.Role | "*", string>
  /** Undefined: those that the session tells of, or that its calls show. */
  readonly tools?: ReadonlyArray<ToolDefinition>
}

/** The sample with what is given, where it has none. */
export const complete = (sample: TrainingSample, given: GivenContext): TrainingSample =>
  withTools(withSystem(sample, given), given)

const withSystem = (sample: TrainingSample, { system }: GivenContext): TrainingSample => {
  const { metadata, turns } = sample
  const prompt = system.get(metadata.role) ?? system.get("*")
  if (prompt === undefined || metadata.system_source !== "none") return sample
  const turn = {
    role: "system" as const,
    content: prompt.toWellFormed(),
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

const DECLARED = new Set<ToolsSource>(["session", "thread", "mixed"])

const withTools = (sample: TrainingSample, { tools }: GivenContext): TrainingSample => {
  const { metadata } = sample
  // Tools that the session declares are what the model was offered.
  if (tools === undefined || DECLARED.has(metadata.tools_source)) return sample
  return { ...sample, tools, metadata: { ...metadata, tools_source: "file" } }
}
