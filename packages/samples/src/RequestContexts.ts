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
import * as JsonText from "@pi-sessions/core/JsonText"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
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

/**
 * Reads thread files: those named, and the `.jsonl` files of directories. Fails at a line that is no JSON, unless it
 * breaks off: a crash leaves such lines, and the mirror sends what they held again. Fails when what was named holds no
 * thread entry at all.
 */
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
    let entries = 0
    for (const name of names) entries += yield* readThread(name, told)
    if (entries > 0) continue
    const what = info.type === "Directory" ? "no .jsonl file in it holds a thread entry" : "it holds no thread entry"
    const reason = `${what} (one JSON object with "id" and "type" a line)`
    return yield* new SessionFileError({ path: given, operation: "read", reason })
  }
  return told
})

const readThread = Effect.fnUntraced(function* (
  file: string,
  told: Map<string, Map<string, ToldContext>>
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
      const session = told.get(sessionId) ?? new Map<string, ToldContext>()
      told.set(sessionId, session.set(afterEntryId, rest))
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

/** What is wrong with a line that is no entry; undefined when it is blank, is JSON, or breaks off. */
const brokenLine = (file: string, { byteOffset, line, text }: SessionLine): SessionFileError | undefined => {
  const bytes = Buffer.from(text.replace(/^\ufeff/u, ""), "utf8")
  const fault = JsonText.faultIn(bytes)
  if (fault === undefined || fault >= bytes.length) return undefined
  const reason = `line ${line}, byte ${byteOffset + fault}: it is no JSON from there on`
  return new SessionFileError({ path: file, operation: "read", reason })
}
