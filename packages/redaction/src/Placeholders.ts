/**
 * What stands where a secret or a name was: `[REDACTED:github-pat:482913077]`, `/home/user-271828`.
 *
 * The number is the beginning of an HMAC of the value under a key that never leaves the machine. So the same value has the
 * same number in all of a dataset, whichever worker or machine saw it first and in whatever order, and whoever has the
 * dataset but not the key cannot try out passwords or addresses to learn which one has that number. Numbers in order of
 * appearance would want the workers to agree on that order, and a hash without a key would be tried out within minutes.
 */
import { createHmac } from "node:crypto"

/** Up to a billion: two of a thousand secrets share a number once in two thousand datasets. */
const SECRET_DIGITS = 9
/** People are few, and their names stand in paths. */
const NAME_DIGITS = 6

export class Placeholders {
  readonly #key: Uint8Array | string
  readonly #numbers = new Map<string, number>()

  constructor(key: Uint8Array | string) {
    this.#key = key
  }

  secret(rule: string, value: string): string {
    return `[REDACTED:${rule}:${this.#number(value) % 10 ** SECRET_DIGITS}]`
  }

  user(name: string): string {
    return `user-${this.#name(name)}`
  }

  host(name: string): string {
    return `host-${this.#name(name)}`
  }

  /** An address at a domain that is kept for examples. */
  email(address: string): string {
    return `person-${this.#name(address.toLowerCase())}@example.com`
  }

  #name(name: string): string {
    return String(this.#number(name) % 10 ** NAME_DIGITS).padStart(NAME_DIGITS, "0")
  }

  #number(value: string): number {
    const known = this.#numbers.get(value)
    if (known !== undefined) return known
    const number = createHmac("sha256", this.#key).update(value.toWellFormed()).digest().readUIntBE(0, 6)
    if (this.#numbers.size >= MAX_REMEMBERED) this.#numbers.clear()
    this.#numbers.set(value, number)
    return number
  }
}

/** Only saves time: numbers do not depend on what was seen before. */
const MAX_REMEMBERED = 10_000

/** Whether a name is one of ours. */
export const isStandIn = (name: string): boolean => /^(?:user|host|person)-\d{6}$/u.test(name)
