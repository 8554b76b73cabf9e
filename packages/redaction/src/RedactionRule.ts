/**
 * A rule of redaction, as data: which literal to look for, what must match there, and which part of the match is secret.
 *
 * A rule costs nothing where none of its keywords stands: all keywords of all rules are looked for in one pass. So that a
 * text can not make it slow, every quantifier of a pattern has an upper bound; a test holds the rules to that.
 */

/** `prefixed`: the value is told by its own form. `context`: by what stands before it, as in `password=`. */
export type RedactionTier = "prefixed" | "context"

export interface RedactionRule {
  /** Stands in placeholders and counts; the name that gitleaks has for the same, where it has one. */
  readonly id: string
  readonly tier: RedactionTier
  /** In small letters, of at least three characters; found in any case. */
  readonly keywords: ReadonlyArray<string>
  /** Sticky: it is tried where a keyword begins. The group `secret` is what is taken out, without one the whole match. */
  readonly pattern: RegExp
  /**
   * Refuses what only looks like it. What stands for a value is refused without being asked for (`isTokenPlaceholder` of the
   * tier `prefixed`, `isPlaceholder` of the other), but in a `block`.
   */
  readonly accepts?: (secret: string) => boolean
  /** The secret is a block of base64, in which words and runs of one character stand by chance: it is never a stand-in. */
  readonly block?: boolean
  /**
   * A keyword in the middle of a word counts too. Without this a rule of the tier `prefixed` wants a border before it:
   * the start, a character that is in no word, or an escape such as `\n`, `%3D` or a terminal colour.
   */
  readonly anywhere?: boolean
}

/** How often each rule, by id, took something out; never a value. `sum` of DropCounts.ts adds them up. */
export type RedactionCounts = { readonly [rule: string]: number }
