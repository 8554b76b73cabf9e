/** Exit codes of the server, and the errors that carry them. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** Wrong usage: exit code 2. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {
  override get [Runtime.errorExitCode](): number {
    return 2
  }
}

/** The server cannot start: exit code 1. */
export class StartFailed extends Schema.TaggedError<StartFailed>()("StartFailed", { message: Schema.String }) {
  override get [Runtime.errorExitCode](): number {
    return 1
  }
}

/** The exit code after a signal: 0 after SIGTERM, which service managers send, and 130 after SIGINT. */
export const teardown =
  (isTerminated: () => boolean): Runtime.Teardown =>
  (exit, onExit) =>
    isTerminated() && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      ? onExit(0)
      : Runtime.defaultTeardown(exit, onExit)
