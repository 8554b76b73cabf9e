/**
 * What to look for in a text: a literal or a regular expression, in the case that was written or in any.
 *
 * Cases are told apart when the pattern has an upper-case letter ("smart"), unless told otherwise; letters of other cases
 * are those of Unicode's simple case folding, as in a JavaScript expression with the flags `i` and `u`: `ß` is not `ss`.
 * A regular expression is JavaScript's with the flags `u` and `m`: `^` and `$` are the ends of a line, `.` is no line break.
 * One that backtracks without end cannot be stopped within a text: a search is interrupted between texts.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Needle, needleOf } from "./internal/search/needle.ts"
import { requiredLiterals } from "./internal/search/requiredLiterals.ts"

export const CaseRule = Schema.Literals(["smart", "ignore", "sensitive"])
export type CaseRule = typeof CaseRule.Type

export interface PatternOptions {
  /** The pattern is a regular expression. */
  readonly regex?: boolean
  /** `smart` unless told. */
  readonly case?: CaseRule
  /** What stands before and after a match must be no letter, digit or underscore. */
  readonly word?: boolean
}

/** A match in a text: UTF-16 offsets, `end` excluded. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** Nothing can be looked for with it. */
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
  /** Bytes without which a line of JSON holds no match; undefined where every line may hold one. */
  readonly needle: Needle | undefined
  /** All matches in a text, first to last, none within another. */
  readonly find: (text: string) => ReadonlyArray<TextRange>
}

const escaped = (literal: string): string => literal.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, String.raw`\$&`)

/** Whether the pattern's own letters have an upper-case one; `\S` and `\p{L}` have none. */
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
    // Told of the pattern itself, before anything is put around it.
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
