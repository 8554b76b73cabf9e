/**
 * Finds secrets in a text: known values first, then values that their own form tells, then values that what stands before
 * them tells. One pass looks for the keywords of all rules and for all known values together; a pattern is tried only
 * where its keyword stands. See docs/redaction.md for what is found.
 */
import { type ExactSecret } from "./ExactSecrets.ts"
import { type RedactionRule } from "./RedactionRule.ts"
import { REDACTION_RULES } from "./RedactionRules.ts"
import { KEY_NAMES } from "./internal/contextRules.ts"
import { isBorder } from "./internal/border.ts"
import { type Finding, type KeywordFinder, merged } from "./internal/finding.ts"
import { LiteralScan, type Literal } from "./internal/literalScan.ts"
import { isPlaceholder, isTokenPlaceholder } from "./internal/secretShape.ts"

export interface ScannerOptions {
  /** Values that are known to be secret. */
  readonly exact?: ReadonlyArray<ExactSecret>
  /** Instead of the rules that come with the library. */
  readonly rules?: ReadonlyArray<RedactionRule>
  /** What else to look for in the same pass. */
  readonly finders?: ReadonlyArray<KeywordFinder>
}

type Found = KeywordFinder["find"]

/** The rule that known values go by. */
export const EXACT_RULE = "exact-value"

export class SecretScanner {
  readonly #scan: LiteralScan
  readonly #weighed = new Weighed()
  /** What to do where a literal stands, by the literal's index. */
  readonly #found: ReadonlyArray<ReadonlyArray<Found>>

  constructor({ exact = [], finders = [], rules = REDACTION_RULES }: ScannerOptions = {}) {
    const literals = new Map<string, { readonly literal: Literal; readonly found: Array<Found> }>()
    const add = (literal: Literal, found: Found): void => {
      const key = `${literal.caseSensitive === true ? "=" : "~"}${literal.text}`
      const known = literals.get(key)
      if (known === undefined) literals.set(key, { literal, found: [found] })
      else known.found.push(found)
    }
    for (const { forms, value } of exact) {
      for (const form of forms) add({ text: form, caseSensitive: true }, exactly(value, form.length))
    }
    for (const rule of rules) {
      const found = matching(rule, this.#weighed)
      for (const text of rule.keywords) add({ text }, found)
    }
    for (const { find, keywords } of finders) for (const text of keywords) add({ text }, find)
    this.#scan = new LiteralScan([...literals.values()].map(({ literal }) => literal))
    this.#found = [...literals.values()].map(({ found }) => found)
  }

  /** In order, none of them touching another. */
  find(text: string): ReadonlyArray<Finding> {
    const findings = this.collect(text)
    return findings.length < 2 ? findings : merged(findings)
  }

  /** As they come: one may hold another. */
  collect(text: string): Array<Finding> {
    const findings: Array<Finding> = []
    this.#weighed.clear()
    this.#scan.scan(text, (literal, start) => {
      for (const found of this.#found[literal] ?? []) {
        const finding = found(text, start)
        if (finding !== undefined) findings.push(finding)
      }
    })
    return findings
  }

  /** A value that is all of a member, whose key tells what it is: `{ "password": "..." }`. */
  underKey(key: string, value: string): Finding | undefined {
    if (value.length < 4 || value.length > 512) return undefined
    for (const [name, rule, accepts] of KEY_NAMES) {
      if (name.test(key) && accepts(value) && !isPlaceholder(value))
        return { start: 0, end: value.length, rule, rank: RANKS.context, value }
    }
    return undefined
  }
}

/** Where findings lie over one another, the lowest rank names what was found. */
const RANKS = { exact: 0, prefixed: 1, context: 2 } as const

const exactly =
  (value: string, length: number): Found =>
  (_text, start) => ({ start, end: start + length, rule: EXACT_RULE, rank: RANKS.exact, value })

/**
 * Values that rules weighed in the text at hand. Within one that it took, a rule tries no more, and within one that it
 * refused a few times more: or a text that begins the same value at every other character would have each of them weighed
 * to its end.
 */
class Weighed {
  readonly #byRule = new Map<RedactionRule, { end: number; left: number }>()

  clear(): void {
    if (this.#byRule.size > 0) this.#byRule.clear()
  }

  isSpent(rule: RedactionRule, start: number): boolean {
    const last = this.#byRule.get(rule)
    return last !== undefined && start < last.end && last.left <= 0
  }

  refused(rule: RedactionRule, start: number, end: number): undefined {
    const last = this.#byRule.get(rule)
    if (last === undefined || start >= last.end) this.#byRule.set(rule, { end, left: TRIES })
    else last.left--
  }

  taken(rule: RedactionRule, end: number): void {
    this.#byRule.set(rule, { end, left: 0 })
  }
}

const TRIES = 3

const matching = (rule: RedactionRule, weighed: Weighed): Found => {
  const { accepts, anywhere = false, block = false, id, tier } = rule
  const { flags, source } = rule.pattern
  // Where the secret lies in the match is asked only of the few that match.
  const pattern = new RegExp(source, flags)
  const hasSecret = source.includes("(?<secret>")
  const located = hasSecret ? new RegExp(source, `${flags}d`) : pattern
  const rank = RANKS[tier]
  const standsIn = tier === "prefixed" ? isTokenPlaceholder : isPlaceholder
  return (text, start) => {
    if (!anywhere && !hasSecret && !isBorder(text, start)) return undefined
    if (weighed.isSpent(rule, start)) return undefined
    pattern.lastIndex = start
    const match = pattern.exec(text)
    if (match === null) return undefined
    const secret = match.groups?.["secret"] ?? match[0]
    if (accepts?.(secret) === false || (!block && standsIn(secret)))
      return weighed.refused(rule, start, pattern.lastIndex)
    let [from, to] = [start, start + secret.length]
    if (hasSecret) {
      located.lastIndex = start
      ;[from, to] = located.exec(text)?.indices?.groups?.["secret"] ?? [from, to]
      if (!anywhere && !isBorder(text, from)) return undefined
    }
    weighed.taken(rule, to)
    return { start: from, end: to, rule: id, rank, value: secret }
  }
}
