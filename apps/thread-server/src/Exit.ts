/** How the server ends when it cannot begin: one clear message on stderr and an exit code that scripts can use. */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** Wrong usage: exit code 2. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
  override get [Runtime.errorExitCode](): number {
    return 2
  }
}

/** It could not begin: exit code 1. */
export class StartFailed extends Schema.TaggedError<StartFailed>()("StartFailed", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
  override get [Runtime.errorExitCode](): number {
    return 1
  }
}
