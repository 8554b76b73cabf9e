/** The shortest start of each id that is unique. */

/** Shortest length. Pi's ids begin with the time, so shorter ones soon become ambiguous. */
const SHORTEST = 8

/** Short ids by id. An id that two sessions share is not shortened. */
export const of = (ids: Iterable<string>): ReadonlyMap<string, string> => {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  const sorted = [...counts.keys()].sort()
  const short = new Map<string, string>()
  for (const [at, id] of sorted.entries()) {
    if (counts.get(id) !== 1) {
      short.set(id, id)
      continue
    }
    const length = Math.max(SHORTEST, shared(id, sorted[at - 1]) + 1, shared(id, sorted[at + 1]) + 1)
    // An id that ends in a dash looks cut off.
    short.set(id, id[length - 1] === "-" ? id.slice(0, length + 1) : id.slice(0, length))
  }
  return short
}

const shared = (id: string, other = ""): number => {
  let length = 0
  while (length < id.length && id[length] === other[length]) length++
  return length
}
