/**
 * Files and directories that flags name. One that cannot be used ends the call before anything is written, with exit
 * status 2 if it is missing, else 1. The error has the flag, the file and the place in it.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import * as TextFile from "@pi-sessions/session-file/TextFile"
import { CommandFailed, UsageError, isMissing } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"

const failure =
  (flag: string) =>
  (error: Pick<SessionFileError, "_tag" | "message" | "reason">): UsageError | CommandFailed => {
    const text = `${flag}: ${error.message}`
    return isMissing(error) ? new UsageError({ text }) : new CommandFailed({ text })
  }

/** Reads a text file. */
export const readText = Effect.fnUntraced(function* (flag: string, given: string) {
  const invocation = yield* Invocation
  return yield* TextFile.read(invocation.resolve(given)).pipe(Effect.mapError(failure(flag)))
})

/** Parses the text of a file as JSON. */
export const parseJson = Effect.fnUntraced(function* (flag: string, given: string, text: string) {
  const invocation = yield* Invocation
  return yield* TextFile.parse(invocation.resolve(given), text).pipe(Effect.mapError(failure(flag)))
})

/** The path of a directory to write; fails if it is a file. */
export const outDirectory = Effect.fnUntraced(function* (flag: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Invocation).resolve(given)
  const info = yield* Effect.option(fs.stat(path))
  if (info._tag === "None" || info.value.type === "Directory") return path
  return yield* new CommandFailed({ text: `${flag}: ${path}: it is a file; give a directory` })
})

/** The path of an existing directory. */
export const directory = Effect.fnUntraced(function* (flag: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Invocation).resolve(given)
  const info = yield* Effect.option(fs.stat(path))
  if (info._tag === "Some" && info.value.type === "Directory") return path
  const why = info._tag === "Some" ? "it is not a directory" : "no such directory"
  return yield* new CommandFailed({ text: `${flag}: ${path}: ${why}` })
})
