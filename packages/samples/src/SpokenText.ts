/** Hashes the content of turns, to compare them. */
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import { type TextHash } from "./TextHash.ts"
import { type Turn } from "./Turn.ts"

/** Adds what the model reads and writes in a turn, without ids and times. `texts` resolves long texts of an outline. */
export const addSpoken = (
  hash: TextHash,
  { content, images = [], metadata, role, tool_calls, tool_results }: Turn,
  texts?: LongTexts
): void => {
  hash.add(role)
  hash.add(content, texts)
  for (const image of images) hash.add(image)
  hash.add(metadata.reasoning ?? "", texts)
  for (const call of tool_calls) {
    hash.add(call.name)
    hash.addJson(JSON.stringify(call.arguments), texts)
  }
  for (const result of tool_results) {
    hash.add(result.tool_name)
    hash.add(result.content, texts)
    for (const image of result.images ?? []) hash.add(image)
    hash.add(result.is_error ? "error" : "")
  }
}
