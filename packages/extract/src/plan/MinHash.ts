/**
 * Estimates how similar two texts are from small signatures: one-permutation MinHash over shingles of words. The share of
 * equal buckets of two signatures estimates the Jaccard similarity of their sets of shingles.
 */

/** Words in a shingle. */
const SHINGLE = 5
const BUCKETS = 64
const EMPTY = 0xffffffff

/** The smallest shingle hash in each of 64 buckets. Empty buckets borrow from the next one. */
export type Signature = ReadonlyArray<number>

/** Finalizer of MurmurHash3, because the high bits of FNV-1a are poor for short input. */
const mix = (hash: number): number => {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Collects the shingles of texts. A shingle lies within one text. */
export class MinHash {
  readonly #buckets = new Uint32Array(BUCKETS).fill(EMPTY)
  #shingles = 0

  /** Number of shingles added, repeats included. */
  get shingles(): number {
    return this.#shingles
  }

  add(text: string): void {
    const window = new Uint32Array(SHINGLE)
    let words = 0
    let word = 0x811c9dc5
    let inWord = false
    for (let at = 0; at <= text.length; at++) {
      const unit = at < text.length ? text.charCodeAt(at) : 32
      if (unit > 32) {
        // Case is ignored: A to Z as a to z.
        const folded = unit >= 65 && unit <= 90 ? unit + 32 : unit
        word = Math.imul(word ^ folded, 0x01000193)
        inWord = true
        continue
      }
      if (!inWord) continue
      window[words % SHINGLE] = mix(word)
      words++
      word = 0x811c9dc5
      inWord = false
      if (words >= SHINGLE) this.#shingle(window, words)
    }
    // A shorter text is one shingle.
    if (words > 0 && words < SHINGLE) this.#shingle(window.subarray(0, words), 0)
  }

  #shingle(window: Uint32Array, end: number): void {
    let hash = 0
    for (let i = 0; i < window.length; i++) {
      hash = Math.imul(hash ^ (window[(end + i) % window.length] ?? 0), 0x01000193) + 0x9e3779b9
    }
    const value = mix(hash)
    const bucket = value >>> 26
    this.#shingles++
    if (value < (this.#buckets[bucket] ?? 0)) this.#buckets[bucket] = value
  }

  /** The signature of all texts. Undefined: there are no shingles. */
  signature(): Signature | undefined {
    if (this.#shingles === 0) return undefined
    const filled = this.#buckets.slice()
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if (this.#buckets[bucket] !== EMPTY) continue
      let distance = 1
      while (this.#buckets[(bucket + distance) % BUCKETS] === EMPTY) distance++
      // The distance changes the value, so that equal values mean equal borrowing.
      filled[bucket] = mix((this.#buckets[(bucket + distance) % BUCKETS] ?? 0) + distance)
    }
    return [...filled]
  }
}

/** Estimate of the Jaccard similarity, 0 to 1, in steps of 1/64. */
export const similarity = (a: Signature, b: Signature): number => {
  let equal = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) if (a[bucket] === b[bucket]) equal++
  return equal / BUCKETS
}

/** Buckets in a band; a signature has 16. Pairs with a common band: nearly all at similarity 0.9, 98.8 % at 0.7, 12 % at 0.3. */
const BAND = 4

/** One key for each band. Only sessions with a common key are compared, so a similar pair without one is missed. */
export const bandsOf = (signature: Signature): ReadonlyArray<string> => {
  const bands: Array<string> = []
  for (let at = 0; at < BUCKETS; at += BAND) bands.push(`${at}:${signature.slice(at, at + BAND).join(",")}`)
  return bands
}
