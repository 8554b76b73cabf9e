/**
 * Files and directories that a person named by a flag. One that cannot be used ends the call before anything is written:
 * with exit code 2 when it is not there, else with 1, naming the flag, the file, the place in it and what is wrong.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import * as TextFile from "@pi-sessions/session-file/TextFile"
import { CommandFailed, UsageError } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"

const MISSING = "no such file or directory"

const refusal =
  (flag: string) =>
  (error: Pick<SessionFileError, "message" | "reason">): UsageError | CommandFailed => {
    const text = `${flag}: ${error.message}`
    return error.reason === MISSING ? new UsageError({ text }) : new CommandFailed({ text })
  }

/** The text of a file. */
export const readText = Effect.fnUntraced(function* (flag: string, given: string) {
  const invocation = yield* Invocation
  return yield* TextFile.read(invocation.resolve(given)).pipe(Effect.mapError(refusal(flag)))
})

/** The value that a text of a file says as JSON. */
export const parseJson = Effect.fnUntraced(function* (flag: string, given: string, text: string) {
  const invocation = yield* Invocation
  return yield* TextFile.parse(invocation.resolve(given), text).pipe(Effect.mapError(refusal(flag)))
})

/** Fails when something that is no directory is where a directory is to be written. */
export const checkOut = Effect.fnUntraced(function* (flag: string, path: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* Effect.option(fs.stat(path))
  if (info._tag === "None" || info.value.type === "Directory") return
  return yield* new CommandFailed({ text: `${flag}: ${path}: it is a file; give a directory` })
})

/** The path of a directory, which must be there. */
export const directory = Effect.fnUntraced(function* (flag: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const invocation = yield* Invocation
  const path = invocation.resolve(given)
  const info = yield* Effect.option(fs.stat(path))
  if (info._tag === "Some" && info.value.type === "Directory") return path
  const why = info._tag === "Some" ? "it is no directory" : "no such directory"
  return yield* new CommandFailed({ text: `${flag}: ${path}: ${why}` })
})
