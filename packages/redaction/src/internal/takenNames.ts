/** The names of an object's members, for new names that none of them has. */
export class TakenNames {
  readonly #taken = new Set<string>()
  /** The number to try next, by name: not every number again for each member. */
  readonly #next = new Map<string, number>()

  add(name: string): void {
    this.#taken.add(name)
  }

  /** The name itself, or with the first number from 2 that makes it new. */
  unused(name: string): string {
    if (!this.#taken.has(name)) return name
    let number = this.#next.get(name) ?? 2
    while (this.#taken.has(`${name} (${number})`)) number++
    this.#next.set(name, number + 1)
    return `${name} (${number})`
  }
}
