/** Text of a file that a person named by a flag. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"

export const readFile = Effect.fnUntraced(function* (flag: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const invocation = yield* Invocation
  const path = invocation.resolve(given)
  return yield* fs.readFileString(path).pipe(
    Effect.mapError(fromPlatform(path, "read")),
    Effect.mapError((error) => new UsageError({ text: `${flag}: ${error.message}` }))
  )
})
