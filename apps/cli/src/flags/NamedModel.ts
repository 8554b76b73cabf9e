/** The local model in a directory that a flag names. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as LocalModel from "@pi-sessions/formats/model/LocalModel"
import { CommandFailed, UsageError } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"

/** Loads the model; exit status 2 if the directory is missing, 1 if it has no usable model. */
export const load = Effect.fnUntraced(function* (flag: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Invocation).resolve(given)
  const exists = yield* Effect.orElseSucceed(fs.exists(path), () => true)
  return yield* LocalModel.load(path).pipe(
    Effect.mapError((error) => {
      const text = `${flag}: ${error.message}`
      return exists ? new CommandFailed({ text }) : new UsageError({ text })
    })
  )
})

/** The path of the model's directory, after a check that the model can be loaded. */
export const directory = Effect.fnUntraced(function* (flag: string, given: string) {
  yield* load(flag, given)
  return (yield* Invocation).resolve(given)
})
