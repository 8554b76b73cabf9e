/**
 * The file with the key of placeholders' numbers. The same key and input give the same bytes, so machines that work on one
 * dataset share the file. It is never part of a dataset.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { randomBytes } from "node:crypto"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

/** The file holds something else. It was not changed. */
export class NotARedactionKey extends Schema.TaggedError<NotARedactionKey>()("NotARedactionKey", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path} holds no redaction key (64 hexadecimal digits); name another file, or move it away and a new key is made`
  }
}

const BYTES = 32
const KEY = /^[\da-f]{64}$/u

/** Reads the key. Creates the file, readable by its owner alone, if it does not exist. */
export const open = Effect.fn("RedactionKey.open")(function* (
  file: string
): Effect.fn.Return<string, NotARedactionKey | SessionFileError, FileSystem.FileSystem | Path.Path> {
  return (yield* read(file)) ?? (yield* create(file))
})

const read = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(fromPlatform(file, "read"))
  )
  if (text === undefined || KEY.test(text.trim())) return text?.trim()
  return yield* new NotARedactionKey({ path: file })
})

/** Creates the file at once by a link. If another process was faster, its key is read. */
const create = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const key = randomBytes(BYTES).toString("hex")
  const temporary = `${file}.${globalThis.crypto.randomUUID()}.tmp`
  yield* fs
    .makeDirectory(path.dirname(file), { recursive: true, mode: 0o700 })
    .pipe(
      Effect.andThen(fs.writeFileString(temporary, `${key}\n`, { flag: "wx", mode: 0o600 })),
      Effect.andThen(Effect.catchReason(fs.link(temporary, file), "PlatformError", "AlreadyExists", () => Effect.void)),
      Effect.ensuring(Effect.ignore(fs.remove(temporary, { force: true }))),
      Effect.mapError(fromPlatform(file, "write"))
    )
  return (yield* read(file)) ?? key
})
