/**
 * Levels of detail of a timeline. Each level adds to the ones before it:
 *
 * - `session`: the header, names, compactions, branch summaries and labels;
 * - `user`: messages and commands of the user; messages that extensions display;
 * - `assistant`: texts of answers; changes of model and thinking level; edits of the context;
 * - `tools`: tool calls and the first line of each output;
 * - `full`: thinking, whole outputs, arguments, system prompts, state of extensions, unknown entries.
 */
import * as Schema from "effect/Schema"

export const Depth = Schema.Literals(["session", "user", "assistant", "tools", "full"])
export type Depth = typeof Depth.Type

/** Whether a part of depth `part` appears at `depth`. */
export const reaches = (depth: Depth, part: Depth): boolean =>
  Depth.literals.indexOf(part) <= Depth.literals.indexOf(depth)
