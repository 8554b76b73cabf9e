/**
 * The text that replaces a secret or a name: `[REDACTED:github-pat:482913077]`, `/home/user-271828`.
 *
 * The number is the beginning of an HMAC of the value under a secret key. Equal values get equal numbers in every worker
 * and on every machine with that key, without coordination. Without the key, passwords and addresses cannot be tried out
 * against the numbers, as they could be against a plain hash.
 */
import { createHmac } from "node:crypto"

/** With a thousand secrets, two share a number in one of two thousand datasets. */
const SECRET_DIGITS = 9
/** Fewer, because people are few and their names are parts of paths. */
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

  /** An address in a domain reserved for examples. */
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

/** Entries of the cache. The numbers do not depend on it. */
const MAX_REMEMBERED = 10_000

/** Whether a name is a placeholder of `user`, `host` or `email`. */
export const isPlaceholderName = (name: string): boolean => /^(?:user|host|person)-\d{6}$/u.test(name)
