/** Counts and names as words. */

/** `1 file`, `1,200 files`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`

/** `not_a_session` as `not a session`. */
export const words = (name: string): string => name.replaceAll("_", " ")

/** `3 kept, 1 out of time`, from counts by name. */
export const tally = (counts: { readonly [name: string]: number }): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString("en-US")} ${words(name)}`)
    .join(", ")
