/** What can come between a mirror and its thread, told apart by what helps. */
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { type ThreadSinkError } from "../ThreadSink.ts"
import { type ThreadUnavailable } from "../ThreadSource.ts"

/** The thread cannot be reached now; later it may be. */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** No waiting mends this. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  threadId: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

/** A session file cannot be read. */
export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

export type MirrorTrouble = Unreachable | Refused | Unreadable

export const fromSink = (error: ThreadSinkError): MirrorTrouble =>
  error.retryable
    ? new Unreachable({ reason: error.message })
    : new Refused({ threadId: error.threadId, reason: error.message })

export const fromSource =
  (threadId: string) =>
  (error: ThreadUnavailable): MirrorTrouble =>
    error.why === "unreachable"
      ? new Unreachable({ reason: error.message })
      : new Refused({ threadId, reason: error.message })

export const fromFile = (error: PlatformError.PlatformError): MirrorTrouble => new Unreadable({ reason: error.message })
