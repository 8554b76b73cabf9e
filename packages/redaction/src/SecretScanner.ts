/**
 * Finds secrets in a text: known values, values with a known form, and values after text such as `password=`. One pass
 * searches for all known values and all keywords; a pattern is tried only at its keywords. docs/redaction.md lists what is
 * found.
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
  /** Known secret values. Default: none. */
  readonly exact?: ReadonlyArray<ExactSecret>
  /** Default: `REDACTION_RULES`. */
  readonly rules?: ReadonlyArray<RedactionRule>
  /** Other things to find in the same pass. Default: none. */
  readonly finders?: ReadonlyArray<KeywordFinder>
}

type Find = KeywordFinder["find"]

/** The rule id of known values. */
const EXACT_RULE = "exact-value"

export class SecretScanner {
  readonly #scan: LiteralScan
  readonly #attempts = new Attempts()
  /** By index of the literal. */
  readonly #finds: ReadonlyArray<ReadonlyArray<Find>>

  constructor({ exact = [], finders = [], rules = REDACTION_RULES }: ScannerOptions = {}) {
    const literals = new Map<string, { readonly literal: Literal; readonly finds: Array<Find> }>()
    const add = (literal: Literal, find: Find): void => {
      const key = `${literal.caseSensitive === true ? "=" : "~"}${literal.text}`
      const known = literals.get(key)
      if (known === undefined) literals.set(key, { literal, finds: [find] })
      else known.finds.push(find)
    }
    for (const { forms, value } of exact) {
      for (const form of forms) add({ text: form, caseSensitive: true }, exactly(value, form.length))
    }
    for (const rule of rules) {
      const find = matching(rule, this.#attempts)
      for (const text of rule.keywords) add({ text }, find)
    }
    for (const { find, keywords } of finders) for (const text of keywords) add({ text }, find)
    this.#scan = new LiteralScan([...literals.values()].map(({ literal }) => literal))
    this.#finds = [...literals.values()].map(({ finds }) => finds)
  }

  /** Sorted; overlapping findings are merged. */
  find(text: string): ReadonlyArray<Finding> {
    const findings = this.collect(text)
    return findings.length < 2 ? findings : merged(findings)
  }

  /** Unsorted; findings may overlap. */
  collect(text: string): Array<Finding> {
    const findings: Array<Finding> = []
    this.#attempts.clear()
    this.#scan.scan(text, (literal, start) => {
      for (const find of this.#finds[literal] ?? []) {
        const finding = find(text, start)
        if (finding !== undefined) findings.push(finding)
      }
    })
    return findings
  }

  /** Finds a whole value by its key: `{ "password": "..." }`. */
  underKey(key: string, value: string): Finding | undefined {
    if (value.length < 4 || value.length > 512) return undefined
    for (const [name, rule, accepts] of KEY_NAMES) {
      if (name.test(key) && accepts(value) && !isPlaceholder(value))
        return { start: 0, end: value.length, rule, rank: RANKS.context, value }
    }
    return undefined
  }
}

/** The finding with the lowest rank names the placeholder of overlapping findings. */
const RANKS = { exact: 0, prefixed: 1, context: 2 } as const

const exactly =
  (value: string, length: number): Find =>
  (_text, start) => ({ start, end: start + length, rule: EXACT_RULE, rank: RANKS.exact, value })

/**
 * Limits how often a rule is tried inside one value: not again after it accepted the value, and `TRIES` times after it
 * rejected one. Otherwise a text in which the same long value begins at every other character takes quadratic time.
 */
class Attempts {
  readonly #byRule = new Map<RedactionRule, { end: number; left: number }>()

  clear(): void {
    if (this.#byRule.size > 0) this.#byRule.clear()
  }

  isSpent(rule: RedactionRule, start: number): boolean {
    const last = this.#byRule.get(rule)
    return last !== undefined && start < last.end && last.left <= 0
  }

  rejected(rule: RedactionRule, start: number, end: number): undefined {
    const last = this.#byRule.get(rule)
    if (last === undefined || start >= last.end) this.#byRule.set(rule, { end, left: TRIES })
    else last.left--
  }

  accepted(rule: RedactionRule, end: number): void {
    this.#byRule.set(rule, { end, left: 0 })
  }
}

const TRIES = 3

const matching = (rule: RedactionRule, attempts: Attempts): Find => {
  const { accepts, anywhere = false, block = false, id, tier } = rule
  const { flags, source } = rule.pattern
  // Indices are slow, so they are computed only after a match.
  const pattern = new RegExp(source, flags)
  const hasSecret = source.includes("(?<secret>")
  const located = hasSecret ? new RegExp(source, `${flags}d`) : pattern
  const rank = RANKS[tier]
  const isNoSecret = tier === "prefixed" ? isTokenPlaceholder : isPlaceholder
  return (text, start) => {
    if (!anywhere && !hasSecret && !isBorder(text, start)) return undefined
    if (attempts.isSpent(rule, start)) return undefined
    pattern.lastIndex = start
    const match = pattern.exec(text)
    if (match === null) return undefined
    const secret = match.groups?.["secret"] ?? match[0]
    if (accepts?.(secret) === false || (!block && isNoSecret(secret)))
      return attempts.rejected(rule, start, pattern.lastIndex)
    let [from, to] = [start, start + secret.length]
    if (hasSecret) {
      located.lastIndex = start
      ;[from, to] = located.exec(text)?.indices?.groups?.["secret"] ?? [from, to]
      if (!anywhere && !isBorder(text, from)) return undefined
    }
    attempts.accepted(rule, to)
    return { start: from, end: to, rule: id, rank, value: secret }
  }
}
