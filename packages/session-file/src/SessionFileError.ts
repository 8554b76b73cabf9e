/** Errors of session files on disk. */
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"

/** The file system failed. */
export class SessionFileError extends Schema.TaggedError<SessionFileError>()("SessionFileError", {
  path: Schema.String,
  /** The failed operation, as in `cannot read`. */
  operation: Schema.Literals(["read", "list", "write"]),
  reason: Schema.String
}) {
  override get message(): string {
    return `cannot ${this.operation} ${this.path}: ${this.reason}`
  }
}

/** Converts a platform error; `path` is the path for the user. */
export const fromPlatform =
  (path: string, operation: SessionFileError["operation"]) =>
  (error: PlatformError.PlatformError): SessionFileError =>
    new SessionFileError({ path, operation, reason: explain(error) })

/** The system's reason, for users. */
export const explain = (error: PlatformError.PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return reasons.ENOENT
    case "PermissionDenied":
      return reasons.EACCES
    case "Unknown": {
      // Effect has no tag for it; the system's message is in the cause.
      const { cause } = error.reason
      if (!(cause instanceof Error)) return error.message
      const code = "code" in cause ? cause.code : undefined
      return code === "ENOSPC" || code === "EDQUOT" ? `the disk is full (${code})` : cause.message
    }
    default: {
      // Effect has one tag for several codes, and its message names an internal function.
      const { cause } = error.reason
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
      return reasonOfCode(code) ?? error.message
    }
  }
}

/** The message for an error code; undefined if there is none. */
export const reasonOfCode = (code: string): string | undefined =>
  Object.entries(reasons).find(([known]) => known === code)?.[1]

/** Messages for error codes of the file system. */
export const reasons = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EEXIST: "something else is there already, or in the place of its directory",
  EISDIR: "it is a directory; give a file",
  ENOTDIR: "it is a file, or lies below one; give a directory",
  ENXIO: "no regular file",
  ELOOP: "its symbolic links lead round in a circle"
}

/** The file has no header, so that it is not a Pi session. It was not changed. */
export class NotASession extends Schema.TaggedError<NotASession>()("NotASession", {
  path: Schema.String,
  line: Schema.Int,
  byteOffset: Schema.Int
}) {
  override get message(): string {
    return `${this.path}:${this.line} (byte ${this.byteOffset}): not a Pi session: no line {"type":"session","id":"..."}`
  }
}

/** The target has other content than the session to write. It was not changed. */
export class TargetDiverged extends Schema.TaggedError<TargetDiverged>()("TargetDiverged", {
  path: Schema.String,
  why: Schema.Literals(["diverged", "another-session", "not-a-session"]),
  /** First line that differs, from 1. */
  line: Schema.Int,
  /** First byte that differs. */
  byteOffset: Schema.Int
}) {
  override get message(): string {
    const what = {
      diverged: "the file has gone another way",
      "another-session": "the file holds another session",
      "not-a-session": "the file is no Pi session"
    }[this.why]
    return `${this.path}: ${what} (line ${this.line}, byte ${this.byteOffset}); it was left as it is. Choose another target, or pass --force to move it aside`
  }
}
