/**
 * Predicates of a branch, to select conversations by. SessionQuality.ts computes them; docs/quality.md has the details.
 *
 * - `repeated_call`: the same call (tool and arguments) was made at least three times in a row.
 * - `error_rate`: at least three results, and more than a given share, were errors that the agent did not recover from.
 * - `aborted`: the branch ends with an aborted answer.
 * - `corrected`: the user rejected something that the agent said or did.
 * - `tests_passed`: tests ran after the last edit of a file, and the last run passed.
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

/** Why a choice excludes a sample: a refused predicate holds, or a required one does not. */
export type QualityRefusal = `quality_${QualityPredicate}` | `without_${QualityPredicate}`

export interface QualityChoice {
  readonly refuse?: ReadonlyArray<QualityPredicate>
  readonly require?: ReadonlyArray<QualityPredicate>
}

/** The first reason to exclude a sample: refused predicates first, each group sorted. Undefined if there is none. */
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

/** All refusals, for reports. */
export const QUALITY_REFUSALS: ReadonlyArray<QualityRefusal> = [
  ...QualityPredicate.literals.map((name) => `quality_${name}` as const),
  ...QualityPredicate.literals.map((name) => `without_${name}` as const)
]
