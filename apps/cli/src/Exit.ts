/** How a command ends: exit codes that scripts can use, one clear message on stderr. */
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** Wrong usage, or nothing matched: exit code 2. What was wrong and what to do stands in the message. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
  override get [Runtime.errorExitCode](): number {
    return 2
  }
}

/** The refusal of the first flag that was given with nothing in it, where there is one. */
export const emptyFlag = (
  given: { readonly [flag: string]: Option.Option<string> | ReadonlyArray<string> },
  what: string
): UsageError | undefined => {
  const isEmpty = (value: Option.Option<string> | ReadonlyArray<string>): boolean =>
    Option.isOption(value) ? Option.contains(value, "") : value.includes("")
  const flag = Object.keys(given).find((name) => isEmpty(given[name] ?? []))
  return flag === undefined ? undefined : new UsageError({ text: `${flag} is empty; ${what}` })
}

/** The refusal of the first number that was given and is less than `least`, where there is one. */
export const tooSmall = (
  given: { readonly [flag: string]: Option.Option<number> },
  least: number
): UsageError | undefined => {
  const flag = Object.keys(given).find((name) => Option.exists(given[name] ?? Option.none(), (value) => value < least))
  return flag === undefined ? undefined : new UsageError({ text: `${flag} must be ${least} or more` })
}

/** The work could not be done: exit code 1. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
  override get [Runtime.errorExitCode](): number {
    return 1
  }
}
