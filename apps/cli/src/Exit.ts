/** How a command ends: exit codes that scripts can use, one clear message on stderr. */
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

/** The work could not be done: exit code 1. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
  override get [Runtime.errorExitCode](): number {
    return 1
  }
}
