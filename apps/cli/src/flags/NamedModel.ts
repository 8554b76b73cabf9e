/** The local model in a directory that a person named by a flag. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as LocalModel from "@pi-sessions/formats/model/LocalModel"
import { CommandFailed, UsageError } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"

/** Loads it; exit code 2 when the directory is not there, 1 when it holds no model that can be loaded. */
export const load = Effect.fnUntraced(function* (flag: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const invocation = yield* Invocation
  const path = invocation.resolve(given)
  const isThere = yield* Effect.orElseSucceed(fs.exists(path), () => true)
  return yield* LocalModel.load(path).pipe(
    Effect.mapError((error) => {
      const text = `${flag}: ${error.message}`
      return isThere ? new CommandFailed({ text }) : new UsageError({ text })
    })
  )
})

/** The path of its directory, once it is known that it can be loaded. */
export const directory = Effect.fnUntraced(function* (flag: string, given: string) {
  yield* load(flag, given)
  return (yield* Invocation).resolve(given)
})
