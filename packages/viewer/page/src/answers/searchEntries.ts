/** Searches the entries of a self-contained file, as they are shown. */
import { AROUND_HIT, MOST_HITS } from "../../../src/ViewLimits.ts"
import type * as ViewModel from "../../../src/ViewModel.ts"

/** Ignores case. */
export const searchEntries = (
  sessions: ReadonlyMap<string, ReadonlyArray<ViewModel.EntryRow>>,
  text: string
): ViewModel.Hits => {
  const wanted = text.toLowerCase()
  const hits: Array<ViewModel.Hit> = []
  for (const [key, rows] of sessions) {
    for (const row of rows) {
      const found = row.parts.map(textOf).find((one) => one.toLowerCase().includes(wanted))
      if (found === undefined || hits.length >= MOST_HITS) continue
      const at = found.toLowerCase().indexOf(wanted)
      hits.push({
        key,
        entryId: row.id,
        kind: row.kind,
        ...(row.time === undefined ? {} : { time: row.time }),
        before: found.slice(Math.max(0, at - AROUND_HIT), at),
        found: found.slice(at, at + text.length),
        after: found.slice(at + text.length, at + text.length + AROUND_HIT)
      })
    }
  }
  return { hits, isWhole: hits.length < MOST_HITS }
}

/** The text of a part; "" for pictures. */
export const textOf = (part: ViewModel.EntryPart): string => {
  switch (part.part) {
    case "tool_call":
      return `${part.name} ${part.arguments.map(([, value]) => value).join(" ")}`
    case "image":
      return ""
    case "data":
      return part.json
    default:
      return part.text
  }
}
