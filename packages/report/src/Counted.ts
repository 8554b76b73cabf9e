/** Numbers and counted nouns as people read them: `1,234 entries`. */

/** With separators of thousands. */
export const numberText = (value: number): string => value.toLocaleString("en-US")

/** The number and its noun. Default of `many`: `one` with an "s". */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${numberText(count)} ${count === 1 ? one : many}`
