/**
 * System prompts and tools as the mirror told them in threads (`pi.request_context`, docs/thread.md): what no session file
 * of Pi 0.78 holds.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { ToolDefinition } from "./ToolDefinition.ts"

/** What a model was told before the conversation. */
export interface ToldContext {
  readonly systemPrompt: string
  readonly tools: ReadonlyArray<ToolDefinition>
  /** The same for the same prompt and tools. */
  readonly sha256: string
}

/** By the entry that Pi stood at when it asked; what was told before the first entry stands under "". */
export type ToldInSession = ReadonlyMap<string, ToldContext>

/** By session id. */
export type ToldContexts = ReadonlyMap<string, ToldInSession>

const RequestContext = Schema.Struct({
  payload: Schema.Struct({
    sessionId: Schema.String,
    systemPrompt: Schema.String,
    tools: Schema.Array(ToolDefinition),
    sha256: Schema.String,
    afterEntryId: Schema.optionalKey(Schema.String)
  })
})
const decode = Schema.decodeUnknownResult(RequestContext)

const CHUNK_BYTES = 1 << 20

/** Reads thread files: those named, and the `.jsonl` files of directories. */
export const read = Effect.fn("ToldContexts.read")(function* (
  paths: ReadonlyArray<string>
): Effect.fn.Return<ToldContexts, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const told = new Map<string, Map<string, ToldContext>>()
  for (const given of paths) {
    const info = yield* fs.stat(given).pipe(Effect.mapError(fromPlatform(given, "read")))
    const names =
      info.type === "Directory"
        ? (yield* fs.readDirectory(given).pipe(Effect.mapError(fromPlatform(given, "list"))))
            .filter((name) => name.endsWith(".jsonl"))
            .sort()
            .map((name) => path.join(given, name))
        : [given]
    for (const name of names) yield* readThread(name, told)
  }
  return told
})

const readThread = Effect.fnUntraced(function* (
  file: string,
  told: Map<string, Map<string, ToldContext>>
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const reader = new SessionReader()
  const take = (lines: ReturnType<SessionReader["push"]>): void => {
    for (const line of lines) {
      if (!(line instanceof SessionEntry) || line.type !== "pi.request_context") continue
      const context = Result.getOrUndefined(decode(line.decode()))
      if (context === undefined) continue
      const { afterEntryId = "", sessionId, ...rest } = context.payload
      const session = told.get(sessionId) ?? new Map<string, ToldContext>()
      told.set(sessionId, session.set(afterEntryId, rest))
    }
  }
  yield* fs.stream(file, { chunkSize: CHUNK_BYTES }).pipe(
    Stream.mapError(fromPlatform(file, "read")),
    Stream.runForEach((chunk) => Effect.sync(() => take(reader.push(chunk))))
  )
  take(reader.end())
})
