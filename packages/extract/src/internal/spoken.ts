/** What counts when turns are compared. */
import { type TextHash } from "../TextHash.ts"
import { type Turn } from "../Turn.ts"

/** Adds what the model reads and writes in a turn. Ids and times are not part of it. */
export const addSpoken = (hash: TextHash, { content, metadata, role, tool_calls, tool_results }: Turn): void => {
  hash.add(role)
  hash.add(content)
  hash.add(metadata.reasoning ?? "")
  for (const call of tool_calls) {
    hash.add(call.name)
    hash.add(JSON.stringify(call.arguments))
  }
  for (const result of tool_results) {
    hash.add(result.tool_name)
    hash.add(result.content)
    hash.add(result.is_error ? "error" : "")
  }
}
