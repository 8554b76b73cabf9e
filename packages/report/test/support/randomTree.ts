/** Random trees, also damaged ones: parents that come later, are missing or form cycles; ids used twice. */
import { type JsonObject } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import type * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as samples from "./samples.ts"

export const make = (random: SeededRandom.SeededRandom, damaged: boolean): Session.Session => {
  const count = 1 + random.int(60)
  const entries: Array<JsonObject> = []
  const name = (index: number): string => `e${String(index).padStart(3, "0")}x`
  for (let at = 0; at < count; at++) {
    // Mostly chains, with some branches.
    const before = random.chance(0.75) ? at - 1 : random.int(at + 1) - 1
    let parentId = before < 0 ? null : name(before)
    let id = name(at)
    if (damaged && random.chance(0.1)) parentId = name(random.int(count + 3))
    if (damaged && random.chance(0.05)) id = name(random.int(count))
    entries.push(
      random.pick([
        samples.user(id, parentId),
        samples.assistant(id, parentId),
        samples.entry("compaction", id, parentId, { summary: "s", firstKeptEntryId: name(random.int(count)) }),
        samples.entry("label", id, parentId, { targetId: name(random.int(count)), label: "mark" }),
        samples.entry("model_change", id, parentId, { provider: "fake", modelId: "fake-1" }),
        samples.user(id, parentId, "more of the same")
      ])
    )
  }
  return samples.session(...entries)
}
