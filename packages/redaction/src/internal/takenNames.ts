/** The member names of an object; makes new names unique. */
export class TakenNames {
  readonly #taken = new Set<string>()
  /** The next number to try for each name, so that many equal names take linear time. */
  readonly #next = new Map<string, number>()

  add(name: string): void {
    this.#taken.add(name)
  }

  /** Returns the name, or `name (2)`, `name (3)`, ... if it is taken. */
  unused(name: string): string {
    if (!this.#taken.has(name)) return name
    let number = this.#next.get(name) ?? 2
    while (this.#taken.has(`${name} (${number})`)) number++
    this.#next.set(name, number + 1)
    return `${name} (${number})`
  }
}
