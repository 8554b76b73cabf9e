/** Searches a text for names. The time does not grow with the number of names. */
import { isBorder } from "./border.ts"

/** Up to this many names, one `indexOf` search per name is faster. */
const FEW = 8

export class NameSearch {
  readonly #names: ReadonlyArray<string>
  readonly #set: ReadonlySet<string>
  readonly #lengths: ReadonlyArray<number>

  constructor(names: ReadonlyArray<string>) {
    this.#set = new Set(names)
    this.#names = [...this.#set]
    this.#lengths = [...new Set(this.#names.map((name) => name.length))]
  }

  /** Calls `found` for each name that begins at a word border. */
  search(text: string, found: (name: string, start: number) => void): void {
    if (this.#names.length <= FEW) {
      for (const name of this.#names) {
        for (let start = text.indexOf(name); start >= 0; start = text.indexOf(name, start + name.length)) {
          if (isBorder(text, start)) found(name, start)
        }
      }
      return
    }
    for (let start = 0; start < text.length; start++) {
      if (!isBorder(text, start)) continue
      for (const length of this.#lengths) {
        const name = text.slice(start, start + length)
        if (this.#set.has(name)) found(name, start)
      }
    }
  }
}
