/** Checks of flag values that apply to several commands. Each gives an error, or undefined if nothing is wrong. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { UsageError } from "../Exit.ts"

/** The name of each flag with its value. */
type Given<A> = { readonly [flag: string]: A }

/** Refuses empty texts. */
export const empty = (
  given: Given<string | Option.Option<string> | ReadonlyArray<string>>,
  advice = "leave it out, or give one"
): UsageError | undefined => {
  const isEmpty = (value: string | Option.Option<string> | ReadonlyArray<string>): boolean =>
    typeof value === "string" ? value === "" : Option.isOption(value) ? Option.contains(value, "") : value.includes("")
  const flag = Object.entries(given).find(([, value]) => isEmpty(value))?.[0]
  return flag === undefined ? undefined : new UsageError({ text: `${flag} is empty; ${advice}` })
}

/** Refuses an empty `--sessions`. */
export const emptySessions = (sessions: ReadonlyArray<string>): UsageError | undefined =>
  empty({ "--sessions": sessions }, "give a session file or a directory")

/** Refuses numbers below `least`. */
export const tooSmall = (given: Given<Option.Option<number>>, least: number): UsageError | undefined => {
  const flag = Object.entries(given).find(([, value]) => Option.exists(value, (number) => number < least))?.[0]
  return flag === undefined ? undefined : new UsageError({ text: `${flag} must be ${least} or more` })
}

/** Refuses more than one of several flags. */
export const exclusive = (given: Given<boolean>): UsageError | undefined => {
  const flags = Object.entries(given).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []))
  return flags.length < 2
    ? undefined
    : new UsageError({ text: `${flags.join(" and ")} exclude each other; give one of them` })
}

/** Fails with the first error. */
export const all = (...errors: ReadonlyArray<UsageError | undefined>): Effect.Effect<void, UsageError> => {
  const first = errors.find((error) => error !== undefined)
  return first === undefined ? Effect.void : Effect.fail(first)
}
