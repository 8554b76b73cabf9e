/** How a command ends: exit status 2 for wrong usage, else 1, with one message on stderr. */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** Wrong usage, or nothing matched: exit status 2. The text says what is wrong and what to do. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
  override get [Runtime.errorExitCode](): number {
    return 2
  }
}

/** The work failed: exit status 1, as for every other error that is no `UsageError`. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
}

/** Any error of a command. */
interface Failure {
  readonly _tag: string
  readonly message: string
  readonly reason?: unknown
}

/** Turns errors with one of these tags into a `UsageError`. */
export const usage =
  (...tags: ReadonlyArray<string>) =>
  <A, E extends Failure, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | UsageError, R> =>
    Effect.mapError(effect, (error) => (tags.includes(error._tag) ? new UsageError({ text: error.message }) : error))

/** Whether an error says that a path does not exist. */
export const isMissing = ({ reason }: Failure): boolean => reason === "no such file or directory"

/** Turns an error about a path that does not exist into a `UsageError`. */
export const missingIsUsage = <A, E extends Failure, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | UsageError, R> =>
  Effect.mapError(effect, (error) => (isMissing(error) ? new UsageError({ text: error.message }) : error))
