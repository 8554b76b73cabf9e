/** Opens files with Node's synchronous calls, and converts their errors. */
import * as Fs from "node:fs"
import { SessionFileError, reasonOfCode } from "@pi-sessions/session-file/SessionFileError"

/** Flags for reading. Without O_NONBLOCK opening a pipe would block until it has a writer. */
export const READ = Fs.constants.O_RDONLY | (Fs.constants.O_NONBLOCK ?? 0)

/** The code of a system error; "" for any other value. */
export const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "")

/** Converts what a call threw. */
export const failed = (path: string, operation: "list" | "read", cause: unknown): SessionFileError => {
  if (cause instanceof SessionFileError) return cause
  const code = codeOf(cause)
  return new SessionFileError({ path, operation, reason: reasonOfCode(code) ?? (code === "" ? String(cause) : code) })
}
