/** Order and filter of the list of sessions. */
import type * as ViewModel from "../../../src/ViewModel.ts"

type Rows = ReadonlyArray<ViewModel.SessionRow>

export const SORTS = ["newest", "largest", "directory"] as const
export type Sort = (typeof SORTS)[number]

/** Equal rows are in order of time, the newest first. */
export const ordered = (rows: Rows, sort: Sort): Rows =>
  rows.toSorted((a, b) => {
    if (sort === "largest") return b.sizeBytes - a.sizeBytes
    if (sort === "directory" && a.cwd !== b.cwd) return a.cwd < b.cwd ? -1 : 1
    return a.startedAt === b.startedAt ? b.modifiedMs - a.modifiedMs : a.startedAt < b.startedAt ? 1 : -1
  })

/** The sessions whose names, directories or summaries have every word of the filter. */
export const filtered = (
  rows: Rows,
  summaries: ReadonlyMap<string, ViewModel.SessionSummary>,
  filter: string
): Rows => {
  const words = filter
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "")
  return rows.filter((row) => {
    const summary = summaries.get(row.key)
    const text = [row.id, row.cwd, row.path, row.name, summary?.name, summary?.says, summary?.role, summary?.rig]
      .join(" ")
      .toLowerCase()
    return words.every((word) => text.includes(word))
  })
}
