/** How the server ends: an exit code that scripts can use, and one clear message on stderr when it cannot begin. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
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

/**
 * The exit code of a server that was told to end: 0 after SIGTERM, with which service managers stop it, and 130 after
 * SIGINT. In both cases the requests in progress were finished first.
 */
export const teardown =
  (isTerminated: () => boolean): Runtime.Teardown =>
  (exit, onExit) =>
    isTerminated() && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      ? onExit(0)
      : Runtime.defaultTeardown(exit, onExit)
