/** The lowest depth at which an entry can appear, without decoding it. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Depth } from "../TimelineDepth.ts"

/** By role of messages, else by type. Default: `full`. */
const LEAST: ReadonlyMap<string, Depth> = new Map<string, Depth>([
  ["user", "user"],
  ["assistant", "assistant"],
  ["toolResult", "tools"],
  ["bashExecution", "user"],
  ["custom", "user"],
  ["custom_message", "user"],
  ["compaction", "session"],
  ["branch_summary", "session"],
  ["label", "session"],
  ["session_info", "session"],
  ["model_change", "assistant"],
  ["thinking_level_change", "assistant"],
  ["context_edit", "assistant"]
])

export const leastDepth = ({ role, type }: SessionEntry): Depth =>
  LEAST.get(type === "message" ? (role ?? "") : type) ?? "full"
