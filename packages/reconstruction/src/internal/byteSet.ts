/**
 * A set of byte strings, for hundreds of thousands of ids. It uses a few large arrays, which the garbage collector does
 * not walk, and makes no strings.
 */

const FNV_PRIME = 0x01000193
const FNV_BASIS = 0x811c9dc5

export class ByteSet {
  /** All members, concatenated. */
  #bytes = new Uint8Array(1 << 12)
  /** End of each member, by its number from 1; member n starts at the end of n - 1. */
  #ends = new Uint32Array(1 << 8)
  /** Hash table of member numbers with open addressing; 0 is free. At most half is used. */
  #table = new Uint32Array(1 << 9)
  #hashes = new Uint32Array(1 << 8)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds `source[start, end)`; false when the set has it. */
  add(source: Uint8Array, start: number, end: number): boolean {
    let hash = FNV_BASIS
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ source[i]!, FNV_PRIME)
    hash = (hash ^ (hash >>> 15)) >>> 0
    const mask = this.#table.length - 1
    let slot = hash & mask
    for (let member = this.#table[slot]!; member !== 0; member = this.#table[slot]!) {
      if (this.#hashes[member] === hash && this.#isMember(member, source, start, end)) return false
      slot = (slot + 1) & mask
    }
    this.#append(source, start, end, hash)
    this.#table[slot] = this.#size
    if (this.#size * 2 > this.#table.length) this.#rehash()
    return true
  }

  #isMember(member: number, source: Uint8Array, start: number, end: number): boolean {
    const from = this.#ends[member - 1]!
    if (this.#ends[member]! - from !== end - start) return false
    for (let i = start; i < end; i++) if (this.#bytes[from + i - start] !== source[i]) return false
    return true
  }

  #append(source: Uint8Array, start: number, end: number, hash: number): void {
    const from = this.#ends[this.#size]!
    const to = from + end - start
    if (to > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(to, this.#bytes.length * 2))
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    for (let i = start; i < end; i++) this.#bytes[from + i - start] = source[i]!
    const member = ++this.#size
    if (member === this.#ends.length) {
      this.#ends = doubled(this.#ends)
      this.#hashes = doubled(this.#hashes)
    }
    this.#ends[member] = to
    this.#hashes[member] = hash
  }

  #rehash(): void {
    const table = new Uint32Array(this.#table.length * 2)
    const mask = table.length - 1
    for (let member = 1; member <= this.#size; member++) {
      let slot = this.#hashes[member]! & mask
      while (table[slot] !== 0) slot = (slot + 1) & mask
      table[slot] = member
    }
    this.#table = table
  }
}

const doubled = (array: Uint32Array): Uint32Array<ArrayBuffer> => {
  const grown = new Uint32Array(array.length * 2)
  grown.set(array)
  return grown
}
