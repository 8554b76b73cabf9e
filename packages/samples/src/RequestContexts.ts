/**
 * System prompts and tools of requests, as the mirror records them in threads (`pi.request_context`, docs/thread.md).
 * Sessions of Pi 0.78 do not contain them.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as JsonText from "@pi-sessions/core/JsonText"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { ToolDefinition } from "./ToolDefinition.ts"

export interface RequestContext {
  readonly systemPrompt: string
  readonly tools: ReadonlyArray<ToolDefinition>
  /** Equal for equal prompts and tools. */
  readonly sha256: string
}

/** By the id of the last entry before the request; "" for a request before the first entry. */
export type SessionRequestContexts = ReadonlyMap<string, RequestContext>

/** By session id. */
export type RequestContexts = ReadonlyMap<string, SessionRequestContexts>

const ContextEntry = Schema.Struct({
  payload: Schema.Struct({
    sessionId: Schema.String,
    systemPrompt: Schema.String,
    tools: Schema.Array(ToolDefinition),
    sha256: Schema.String,
    afterEntryId: Schema.optionalKey(Schema.String)
  })
})
const decode = Schema.decodeUnknownResult(ContextEntry)

const CHUNK_BYTES = 1 << 20

/**
 * Reads thread files, and the `.jsonl` files of directories.
 *
 * Fails at a line that is not JSON, unless the line is only incomplete: a crash leaves such lines, and the mirror sends
 * their content again. Fails if a path contains no thread entry.
 */
export const read = Effect.fn("RequestContexts.read")(function* (
  paths: ReadonlyArray<string>
): Effect.fn.Return<RequestContexts, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const contexts = new Map<string, Map<string, RequestContext>>()
  for (const given of paths) {
    const info = yield* fs.stat(given).pipe(Effect.mapError(fromPlatform(given, "read")))
    const names =
      info.type === "Directory"
        ? (yield* fs.readDirectory(given).pipe(Effect.mapError(fromPlatform(given, "list"))))
            .filter((name) => name.endsWith(".jsonl"))
            .sort()
            .map((name) => path.join(given, name))
        : [given]
    let entries = 0
    for (const name of names) entries += yield* readThread(name, contexts)
    if (entries > 0) continue
    const what = info.type === "Directory" ? "no .jsonl file in it holds a thread entry" : "it holds no thread entry"
    const reason = `${what} (one JSON object with "id" and "type" a line)`
    return yield* new SessionFileError({ path: given, operation: "read", reason })
  }
  return contexts
})

/** Adds the contexts of a thread file and returns its number of entries. */
const readThread = Effect.fnUntraced(function* (
  file: string,
  contexts: Map<string, Map<string, RequestContext>>
): Effect.fn.Return<number, SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const reader = new SessionReader()
  let entries = 0
  let broken: SessionFileError | undefined
  const take = (lines: ReturnType<SessionReader["push"]>): void => {
    for (const line of lines) {
      if (line instanceof SessionEntry && line.id !== null) entries++
      else broken ??= brokenLine(file, line)
      if (!(line instanceof SessionEntry) || line.type !== "pi.request_context") continue
      const context = Result.getOrUndefined(decode(line.decode()))
      if (context === undefined) continue
      const { afterEntryId = "", sessionId, ...rest } = context.payload
      const session = contexts.get(sessionId) ?? new Map<string, RequestContext>()
      contexts.set(sessionId, session.set(afterEntryId, rest))
    }
  }
  yield* fs.stream(file, { chunkSize: CHUNK_BYTES }).pipe(
    Stream.mapError(fromPlatform(file, "read")),
    Stream.runForEach((chunk) =>
      Effect.suspend(() => {
        take(reader.push(chunk))
        return broken === undefined ? Effect.void : Effect.fail(broken)
      })
    )
  )
  take(reader.end())
  return broken === undefined ? entries : yield* broken
})

/** The error of a line that is not an entry; undefined if the line is blank, JSON or incomplete JSON. */
const brokenLine = (file: string, { byteOffset, line, text }: SessionLine): SessionFileError | undefined => {
  const bytes = Buffer.from(text.replace(/^\ufeff/u, ""), "utf8")
  const fault = JsonText.faultIn(bytes)
  if (fault === undefined || fault >= bytes.length) return undefined
  const reason = `line ${line}, byte ${byteOffset + fault}: it is no JSON from there on`
  return new SessionFileError({ path: file, operation: "read", reason })
}
