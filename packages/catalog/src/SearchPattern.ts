/**
 * A search pattern: a literal or a regular expression.
 *
 * By default ("smart") the case matters if the pattern contains an upper-case letter. Case folding is Unicode's simple
 * one, as in JavaScript with the flags `i` and `u`: `ß` does not match `ss`. Regular expressions are JavaScript's with
 * the flags `u` and `m`: `^` and `$` match at line ends. A catastrophic expression cannot be stopped within a text; a
 * search is interrupted between texts.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Needle, needleOf } from "./internal/search/needle.ts"
import { requiredLiterals } from "./internal/search/requiredLiterals.ts"

export const CaseRule = Schema.Literals(["smart", "ignore", "sensitive"])
export type CaseRule = typeof CaseRule.Type

export interface PatternOptions {
  /** Whether the pattern is a regular expression. Default: false. */
  readonly regex?: boolean
  /** Default: "smart". */
  readonly case?: CaseRule
  /** Whether a match must be a whole word: no letter, digit or underscore before or after it. Default: false. */
  readonly word?: boolean
}

/** A match: UTF-16 offsets in the text, `end` exclusive. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** The pattern is empty, or no valid regular expression. */
export class InvalidPattern extends Schema.TaggedError<InvalidPattern>()("InvalidPattern", {
  pattern: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `the pattern ${JSON.stringify(this.pattern)} cannot be searched for: ${this.reason}`
  }
}

export interface SearchPattern {
  readonly source: string
  readonly ignoreCase: boolean
  /** Bytes that every line with a match contains; undefined if there are none. */
  readonly needle: Needle | undefined
  /** All matches in a text, in order, without overlaps. */
  readonly find: (text: string) => ReadonlyArray<TextRange>
}

const escaped = (literal: string): string => literal.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, String.raw`\$&`)

/** Whether the pattern contains an upper-case letter outside of escapes such as `\S` and `\p{L}`. */
const hasUpperCase = (pattern: string, regex: boolean): boolean =>
  /\p{Lu}/u.test(regex ? pattern.replaceAll(/\\(?:[pPk][{<][^}>]*[}>]|u\{[^}]*\}|u.{4}|x..|c?.)/gsu, "") : pattern)

export const make = (
  pattern: string,
  { case: rule = "smart", regex = false, word = false }: PatternOptions = {}
): Result.Result<SearchPattern, InvalidPattern> => {
  const invalid = (reason: string) => Result.fail(new InvalidPattern({ pattern, reason }))
  if (pattern === "") return invalid("it is empty")
  const ignoreCase = rule === "ignore" || (rule === "smart" && !hasUpperCase(pattern, regex))
  const inner = regex ? pattern : escaped(pattern)
  const flags = ignoreCase ? "gimu" : "gmu"
  try {
    // Compiled first on its own, so that an error quotes the pattern that was given.
    let expression = new RegExp(inner, flags)
    if (word) expression = new RegExp(String.raw`(?<![\p{L}\p{N}_])(?:${inner})(?![\p{L}\p{N}_])`, flags)
    const find =
      regex || ignoreCase || word
        ? (text: string) => expressionRanges(text, expression)
        : (text: string) => literalRanges(text, pattern)
    const needle = needleOf(regex ? requiredLiterals(pattern) : [pattern], ignoreCase)
    return Result.succeed({ source: pattern, ignoreCase, needle, find })
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error))
  }
}

const literalRanges = (text: string, literal: string): ReadonlyArray<TextRange> => {
  const ranges: Array<TextRange> = []
  for (let start = text.indexOf(literal); start >= 0; start = text.indexOf(literal, start + literal.length)) {
    ranges.push({ start, end: start + literal.length })
  }
  return ranges
}

const expressionRanges = (text: string, expression: RegExp): ReadonlyArray<TextRange> => {
  const ranges: Array<TextRange> = []
  for (const match of text.matchAll(expression)) ranges.push({ start: match.index, end: match.index + match[0].length })
  return ranges
}
