/**
 * A redaction rule, as data: the keywords to search for, the pattern to match there, and the secret part of the match.
 *
 * One pass searches for the keywords of all rules, so a rule costs nothing in texts without its keywords. Every quantifier
 * of a pattern has an upper bound, so that no text makes a rule slow; RedactionRules.test.ts checks this.
 */

/** `prefixed`: the value has a known form. `context`: the text before it shows that it is secret, as in `password=`. */
export type RedactionTier = "prefixed" | "context"

export interface RedactionRule {
  /** Used in placeholders and counts. The id of the same rule in gitleaks, if there is one. */
  readonly id: string
  readonly tier: RedactionTier
  /** Lower case, at least three characters; found in any case. */
  readonly keywords: ReadonlyArray<string>
  /** Sticky; tried where a keyword begins. Replaces the group `secret`, or the whole match if there is no such group. */
  readonly pattern: RegExp
  /**
   * Rejects values that only look like a secret. Default: accepts all. Placeholders such as `<token>` are rejected before
   * (by `isTokenPlaceholder` or `isPlaceholder`, depending on the tier), except in a `block`.
   */
  readonly accepts?: (secret: string) => boolean
  /** The secret is a block of base64. Words and repeated characters occur in it by chance, so it is never a placeholder. */
  readonly block?: boolean
  /**
   * Also matches inside a word. Without this, the value must begin at a word border: the start of the text, or after a
   * character that is not in words, or after an escape such as `\n`, `%3D` or a terminal colour.
   */
  readonly anywhere?: boolean
}

/** The number of replacements by rule id. */
export type RedactionCounts = { readonly [rule: string]: number }
