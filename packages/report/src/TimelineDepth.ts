/**
 * Levels of detail of a timeline, each with what the ones before it show:
 *
 * - `session`: the header, names, compactions, branch summaries and labels: the outline;
 * - `user`: what the user said, and the commands that the user ran; messages that extensions show;
 * - `assistant`: what the assistant said; changes of model and thinking level; edits of the context;
 * - `tools`: tool calls and the first line of what came back;
 * - `full`: thinking, whole outputs, arguments, system prompts, state of extensions, unknown entries: everything.
 */
import * as Schema from "effect/Schema"

export const Depth = Schema.Literals(["session", "user", "assistant", "tools", "full"])
export type Depth = typeof Depth.Type

/** Whether something of depth `part` is shown at `depth`. */
export const reaches = (depth: Depth, part: Depth): boolean =>
  Depth.literals.indexOf(part) <= Depth.literals.indexOf(depth)
