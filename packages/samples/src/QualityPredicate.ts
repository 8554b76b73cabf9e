/**
 * Predicates by which conversations may be chosen; SessionQuality.ts says when they hold.
 * Of a branch they say:
 *
 * - `repeated_call`: one call (the same tool, the same arguments) was made three times running or more.
 * - `error_rate`: more than so large a share of results, and three at least, were errors that the agent did not recover
 *   from.
 * - `aborted`: it ends with an answer that was aborted.
 * - `corrected`: the user rejected something that the agent had said or done.
 * - `tests_passed`: tests were run behind the last edit of a file, and the last run of them passed.
 * - `committed`: a git commit was made.
 * - `bead_closed`: a bead was closed.
 */
import * as Schema from "effect/Schema"

export const QualityPredicate = Schema.Literals([
  "aborted",
  "bead_closed",
  "committed",
  "corrected",
  "error_rate",
  "repeated_call",
  "tests_passed"
])
export type QualityPredicate = typeof QualityPredicate.Type

/** Why a choice by predicates leaves something out: one that was refused holds, or one that was required does not. */
export type QualityRefusal = `quality_${QualityPredicate}` | `without_${QualityPredicate}`

export interface QualityChoice {
  readonly refuse?: ReadonlyArray<QualityPredicate>
  readonly require?: ReadonlyArray<QualityPredicate>
}

/** The first reason, refused ones before required ones, each in alphabetical order; undefined where there is none. */
export const refusalOf = (
  holding: ReadonlyArray<QualityPredicate>,
  { refuse = [], require = [] }: QualityChoice
): QualityRefusal | undefined => {
  const names = QualityPredicate.literals
  const refused = names.find((name) => refuse.includes(name) && holding.includes(name))
  if (refused !== undefined) return `quality_${refused}`
  const missing = names.find((name) => require.includes(name) && !holding.includes(name))
  return missing === undefined ? undefined : `without_${missing}`
}

/** All refusals by name, for reports. */
export const QUALITY_REFUSALS: ReadonlyArray<QualityRefusal> = [
  ...QualityPredicate.literals.map((name) => `quality_${name}` as const),
  ...QualityPredicate.literals.map((name) => `without_${name}` as const)
]
