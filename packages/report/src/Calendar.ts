/** Days and weeks, always in UTC, so that the same sessions give the same groups on any machine. */

/** The group of entries without a date. */
export const NONE = "(none)"

const DAY_MS = 86_400_000

const ISO_DATE = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\d(?:T|$)/u
const ZONELESS = /T[\d:.,]+$/u

/** Days since 1970; undefined unless the text is an ISO 8601 date. A time without a zone counts as UTC. */
const dayNumber = (timestamp: string): number | undefined => {
  // Date.parse reads other forms as local time, which differs between machines.
  if (!ISO_DATE.test(timestamp)) return undefined
  const ms = Date.parse(ZONELESS.test(timestamp) ? `${timestamp}Z` : timestamp)
  return Number.isNaN(ms) ? undefined : Math.floor(ms / DAY_MS)
}

/** The date in UTC (`2026-02-25`), or `NONE`. */
export const dayOf = (timestamp: string): string => {
  const day = dayNumber(timestamp)
  return day === undefined ? NONE : (new Date(day * DAY_MS).toISOString().split("T")[0] ?? NONE)
}

/** The ISO 8601 week in UTC (`2026-W08`), or `NONE`. */
export const weekOf = (timestamp: string): string => {
  const day = dayNumber(timestamp)
  if (day === undefined) return NONE
  // A week belongs to the year of its Thursday.
  const thursday = day - ((((day + 3) % 7) + 7) % 7) + 3
  const year = new Date(thursday * DAY_MS).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0, 1) / DAY_MS) / 7) + 1
  return `${year}-W${String(week).padStart(2, "0")}`
}
