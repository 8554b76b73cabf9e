/**
 * A hash of texts, told apart, in order: four lanes of 32 bits over UTF-16 units, in plain integers, since a dataset's
 * texts are long and a cryptographic hash is slower than all the rest. Not for what somebody could want to forge.
 */
export class TextHash {
  #a = 0x9e3779b9
  #b = 0x85ebca6b
  #c = 0xc2b2ae35
  #d = 0x27d4eb2f

  add(text: string): void {
    let [a, b, c, d] = [this.#a, this.#b, this.#c, this.#d]
    const { length } = text
    let at = 0
    for (; at + 1 < length; at += 2) {
      const units = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      a = Math.imul(a ^ units, 0x01000193)
      b = Math.imul((b ^ units) + (b >>> 15), 0x5bd1e995)
      c = Math.imul(c + units, 0x1b873593) ^ (c >>> 13)
      d = (Math.imul(d, 0x2c1b3c6d) + units) ^ (d >>> 12)
    }
    const last = at < length ? text.charCodeAt(at) : 0
    // The length tells texts apart that are cut at another place.
    a = Math.imul(a ^ last, 0x01000193) ^ length
    b = Math.imul((b ^ last) + length, 0x5bd1e995)
    c = Math.imul(c + last, 0x1b873593) ^ (c >>> 13) ^ length
    d = (Math.imul(d, 0x2c1b3c6d) + last + length) ^ (d >>> 12)
    this.#a = a
    this.#b = b
    this.#c = c
    this.#d = d
  }

  /** Of all that was added so far. */
  digest(): string {
    const mixed = [this.#a, this.#b, this.#c, this.#d].map((lane, at) => mix(lane + Math.imul(at, 0x9e3779b9)))
    return mixed.map((lane) => lane.toString(36)).join(".")
  }
}

const mix = (value: number): number => {
  let h = value ^ (value >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
