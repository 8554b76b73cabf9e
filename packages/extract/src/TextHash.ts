/**
 * A hash of texts, told apart, in order: two lanes of 32 bits over UTF-16 units, in plain integers, since a dataset's
 * texts are long and a cryptographic hash is slower than all the rest. Not for what somebody could want to forge; among a
 * million targets two share one with a chance of about one in 10^7.
 */
export class TextHash {
  #a = 0x9e3779b9
  #b = 0x85ebca6b

  add(text: string): void {
    let a = this.#a
    let b = this.#b
    const { length } = text
    let at = 0
    for (; at + 1 < length; at += 2) {
      const units = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      a = Math.imul(a ^ units, 0x01000193)
      a ^= a >>> 15
      b = (Math.imul(b, 0x5bd1e995) + units) ^ (b >>> 13)
    }
    const last = at < length ? text.charCodeAt(at) : 0
    // The length tells texts apart that are cut at another place.
    a = Math.imul(a ^ last, 0x01000193)
    a = Math.imul(a ^ (a >>> 15) ^ length, 0x85ebca6b)
    b = (Math.imul(b, 0x5bd1e995) + last) ^ (b >>> 13)
    b = Math.imul(b + length, 0xc2b2ae35) ^ (b >>> 16)
    this.#a = a
    this.#b = b
  }

  /** Of all that was added so far. */
  digest(): string {
    return `${mix(this.#a).toString(36)}.${mix(this.#b + 0x27d4eb2f).toString(36)}`
  }
}

const mix = (value: number): number => {
  let h = value ^ (value >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
