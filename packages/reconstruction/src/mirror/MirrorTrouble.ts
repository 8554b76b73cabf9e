/** Errors of mirroring, by what to do about them: try again, stop, or skip the file. */
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { type ThreadSinkError } from "../ThreadSink.ts"
import { type ThreadUnavailable } from "../ThreadSource.ts"

/** The thread cannot be reached now. Trying again may help. */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", { message: Schema.String }) {}

/** The thread does not accept the entries. Trying again does not help. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  threadId: Schema.String,
  message: Schema.String
}) {}

/** A session file cannot be read. */
export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { message: Schema.String }) {}

export type MirrorTrouble = Unreachable | Refused | Unreadable

export const fromSink = (error: ThreadSinkError): MirrorTrouble =>
  error.retryable
    ? new Unreachable({ message: error.message })
    : new Refused({ threadId: error.threadId, message: error.message })

export const fromSource =
  (threadId: string) =>
  (error: ThreadUnavailable): MirrorTrouble =>
    error.why === "unreachable"
      ? new Unreachable({ message: error.message })
      : new Refused({ threadId, message: error.message })

export const fromFile = (error: PlatformError.PlatformError): MirrorTrouble =>
  new Unreadable({ message: error.message })
