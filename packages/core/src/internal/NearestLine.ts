/** Finds the nearest line before a line that is wanted. Chains of other lines are walked once, so that the work is linear. */

interface Linked {
  readonly uuid: string
  readonly parentUuid: string | undefined
}

export class NearestLine<L extends Linked> {
  readonly #lines: ReadonlyMap<string, L>
  readonly #isWanted: (line: L) => boolean
  /** Results by the uuid of a line that is not wanted. */
  readonly #known = new Map<string, string | undefined>()

  constructor(lines: ReadonlyMap<string, L>, isWanted: (line: L) => boolean) {
    this.#lines = lines
    this.#isWanted = isWanted
  }

  /** The uuid of the nearest line, or of a parent that is missing; undefined for a root, and where parents form a cycle. */
  before({ parentUuid, uuid }: Linked): string | undefined {
    const path = new Set<string>()
    let at = parentUuid
    while (at !== undefined && !path.has(at) && !this.#known.has(at)) {
      const line = this.#lines.get(at)
      if (line === undefined || this.#isWanted(line)) break
      path.add(at)
      at = line.parentUuid
    }
    const isNone = at === undefined || path.has(at)
    const found = isNone || at === undefined ? undefined : this.#known.has(at) ? this.#known.get(at) : at
    for (const passed of path) this.#known.set(passed, found)
    return found === uuid ? undefined : found
  }
}
