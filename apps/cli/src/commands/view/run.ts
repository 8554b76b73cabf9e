/** Runs `view`: serves the page, or writes it to a file. */
import { createServer } from "node:http"
import { setFlagsFromString } from "node:v8"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as HttpServer from "effect/http/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { SearchFiles } from "@pi-sessions/catalog/SearchFiles"
import { SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import * as Marks from "@pi-sessions/samples/Marks"
import * as ViewFile from "@pi-sessions/viewer/ViewFile"
import * as ViewPage from "@pi-sessions/viewer/ViewPage"
import * as ViewServer from "@pi-sessions/viewer/ViewServer"
import { Viewer, type ViewerOptions } from "@pi-sessions/viewer/Viewer"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { inState } from "../../StateFolder.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import * as NamedRedaction from "../../flags/NamedRedaction.ts"
import { counted } from "../../print/Words.ts"
import { type Input } from "../view.ts"
import * as Subject from "./Subject.ts"
import { openBrowser } from "./openBrowser.ts"
import { VERSION } from "../../Version.ts"

/**
 * Keeps V8's space for young objects small. Otherwise it grows to some 100 MB while a large session is read, and stays; an
 * open server takes a third less memory without that, and is no slower (bench/view.bench.ts).
 */
const smallNursery = Effect.sync(() => setFlagsFromString("--semi-space-growth-factor=1"))

/** Largest file of `--out`, so that browsers open it quickly. */
const FILE_BYTES = 48 << 20

const check = Effect.fnUntraced(function* ({ marks, out, port, sessions, what }: Input) {
  yield* FlagCheck.all(
    FlagCheck.empty({ "--sessions": sessions, "--out": out, "--marks": marks, what }),
    port < 0 || port > 65_535
      ? new UsageError({ text: `--port ${port}: a port is a number from 0 to 65535` })
      : undefined
  )
  if (Option.isNone(out)) return
  const fs = yield* FileSystem.FileSystem
  const file = (yield* Invocation).resolve(out.value)
  const info = yield* Effect.option(fs.stat(file))
  if (Option.isSome(info) && info.value.type === "Directory") {
    return yield* new CommandFailed({ text: `--out: ${file}: it is a directory; give a file` })
  }
})

const optionsOf = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const subject = yield* Subject.find(input)
  const isFile = Option.isSome(input.out)
  const marks = Option.isSome(input.marks) ? invocation.resolve(input.marks.value) : yield* inState("marks.json")
  // Unreadable marks end the call before a redaction key is created.
  yield* Effect.mapError(Marks.readOrNone(marks), (error) => new CommandFailed({ text: `--marks: ${error.message}` }))
  const options: ViewerOptions = {
    ...subject,
    version: VERSION,
    redaction: yield* NamedRedaction.of(input),
    // A server for this machine only shows pictures that are on this machine already.
    withPictures: !isFile || input.noRedact || input.pictures,
    marksFile: marks,
    format: input.format
  }
  return options
})

/** Fails if the file exists and was not written by this command. */
const checkReplaceable = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  if (text === "" || text.slice(0, 4000).includes("<title>pi-sessions</title>")) return
  return yield* new UsageError({
    text: `--out ${file}: the file exists and was not written by this command; choose another`
  })
})

const writeFile = Effect.fnUntraced(function* (given: string, isDataset: boolean, assets: ViewPage.PageAssets) {
  const invocation = yield* Invocation
  const file = invocation.resolve(given)
  yield* checkReplaceable(file)
  const made = yield* ViewFile.make({
    assets,
    mostBytes: FILE_BYTES,
    onProgress: (done, total) => invocation.progress(`${done} of ${total} sessions`)
  })
  yield* invocation.progress("")
  if (made.sessions === 0 && !isDataset) {
    const why = made.left.map(({ id, reason }) => `${id}: ${reason}`).slice(0, 3)
    return yield* new CommandFailed({
      text: `--out ${file}: not written, because it can hold none of the sessions (${why.join("; ")})`
    })
  }
  yield* SafeWrite.write(file, [new TextEncoder().encode(made.html)], "replace").pipe(
    Effect.mapError(fromPlatform(file, "write"))
  )
  for (const { id, reason } of made.left) yield* invocation.note(`warning: not in the file: ${id}: ${reason}`)
  yield* invocation.note(`wrote ${counted(made.sessions, "session")}, ${counted(made.html.length, "character")}`)
  yield* invocation.result(file)
})

/** Serves the page until an interruption. */
const serve = Effect.fnUntraced(function* (input: Input, options: ViewerOptions, assets: ViewPage.PageAssets) {
  const invocation = yield* Invocation
  const token = ViewServer.newToken()
  const announcement = Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const port = address._tag === "UnixPathAddress" ? input.port : address.port
      const url = `http://127.0.0.1:${port}/${token}/`
      const sessions = counted(options.sessions.length, "session")
      const what = options.dataset === undefined ? "" : `${options.dataset}, `
      yield* invocation.note(`${what}${sessions}, ${options.redaction === "off" ? "not redacted" : "redacted"}`)
      if (options.marksFile !== undefined) yield* invocation.note(`marks: ${options.marksFile}`)
      yield* invocation.note("for this machine only; Ctrl-C ends it")
      yield* invocation.result(url)
      if (input.open) yield* openBrowser(url)
    })
  )
  const server = NodeHttpServer.layer(createServer, {
    host: "127.0.0.1",
    port: input.port,
    gracefulShutdownTimeout: "1 second"
  })
  yield* Layer.launch(
    announcement.pipe(Layer.provideMerge(ViewServer.layer({ token, assets })), Layer.provide(server))
  ).pipe(
    Effect.catchTag("ServeError", ({ cause }) =>
      Effect.fail(new CommandFailed({ text: cannotListen(input.port, cause) }))
    )
  )
})

const cannotListen = (port: number, cause: unknown): string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "unknown reason"
  const remedy = code === "EADDRINUSE" ? "another program listens there" : "choose another --port"
  return `cannot listen on 127.0.0.1 port ${port} (${code}); ${remedy}`
}

export const run = Effect.fnUntraced(function* (input: Input) {
  yield* check(input)
  yield* smallNursery
  const options = yield* optionsOf(input)
  const assets = yield* ViewPage.assets
  yield* Effect.gen(function* () {
    if (Option.isSome(input.out)) return yield* writeFile(input.out.value, options.dataset !== undefined, assets)
    return yield* serve(input, options, assets)
  }).pipe(
    Effect.provide(Viewer.layer(options)),
    Effect.provide(SessionSearch.layer.pipe(Layer.provide(SearchFiles.layerNode))),
    Effect.provide(StoredSessions.layerStore)
  )
}, Effect.provide(StoredSessions.layer))
