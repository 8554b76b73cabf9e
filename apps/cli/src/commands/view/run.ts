/** Running `view`: what is to be seen, and the page of it, served or written. */
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
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import { CommandFailed, UsageError, emptyFlag } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { inState } from "../../StateFolder.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import { redactionOf } from "../../flags/Redaction.ts"
import { type Input } from "../view.ts"
import * as Subject from "./Subject.ts"
import { openBrowser } from "./openBrowser.ts"
import { VERSION } from "../../Version.ts"

/**
 * V8 lets the space for young objects grow to some 100 MB while a large session is read, and keeps it. A server that a
 * person leaves open for the day takes a third less without that, and is no slower (bench/view.bench.ts).
 */
const smallNursery = Effect.sync(() => setFlagsFromString("--semi-space-growth-factor=1"))

/** A file with more than this is nothing that a browser opens gladly. */
const FILE_BYTES = 48 << 20

const checked = Effect.fnUntraced(function* ({ marks, out, port, sessions, what }: Input) {
  const empty = emptyFlag({ "--sessions": sessions, "--out": out, "--marks": marks, what }, "leave it out, or give one")
  if (empty !== undefined) return yield* empty
  if (port < 0 || port > 65_535)
    return yield* new UsageError({ text: `--port ${port}: a port is a number up to 65535` })
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
  // Marks that cannot be read are told before a key for placeholders is made.
  yield* Effect.mapError(Marks.readOrNone(marks), (error) => new CommandFailed({ text: `--marks: ${error.message}` }))
  const options: ViewerOptions = {
    ...subject,
    version: VERSION,
    redaction: yield* redactionOf(input),
    // On this machine a picture tells nobody anything new.
    withPictures: !isFile || input.noRedact || input.pictures,
    marksFile: marks,
    format: input.format
  }
  return options
})

/** Replaces what an earlier call wrote, and nothing else. */
const writeFile = Effect.fnUntraced(function* (given: string, isDataset: boolean, assets: ViewPage.PageAssets) {
  const fs = yield* FileSystem.FileSystem
  const invocation = yield* Invocation
  const file = invocation.resolve(given)
  const there = yield* Effect.option(fs.readFileString(file))
  if (
    Option.isSome(there) &&
    there.value !== "" &&
    !there.value.slice(0, 4000).includes("<title>pi-sessions</title>")
  ) {
    return yield* new UsageError({
      text: `--out ${file}: a file is there that this command did not write; choose another`
    })
  }
  const made = yield* ViewFile.make({
    assets,
    mostBytes: FILE_BYTES,
    onProgress: (done, total) => invocation.progress(`${done} of ${total} sessions`)
  }).pipe(Effect.ensuring(invocation.progress("")))
  if (made.sessions === 0 && !isDataset) {
    const why = made.left.map(({ id, reason }) => `${id}: ${reason}`).slice(0, 3)
    return yield* new CommandFailed({
      text: `--out ${file}: not written, as no session can be in it (${why.join("; ")})`
    })
  }
  yield* SafeWrite.write(file, [new TextEncoder().encode(made.html)], "replace").pipe(
    Effect.mapError(fromPlatform(file, "write"))
  )
  for (const { id, reason } of made.left) yield* invocation.note(`warning: not in the file: ${id}: ${reason}`)
  const sessions = `${made.sessions} ${made.sessions === 1 ? "session" : "sessions"}`
  yield* invocation.note(`wrote ${sessions}, ${made.html.length.toLocaleString("en-US")} characters`)
  yield* invocation.result(file)
})

/** Serves until it is interrupted. */
const serve = Effect.fnUntraced(function* (input: Input, options: ViewerOptions, assets: ViewPage.PageAssets) {
  const invocation = yield* Invocation
  const token = ViewServer.newToken()
  const told = Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const port = address._tag === "UnixPathAddress" ? input.port : address.port
      const url = `http://127.0.0.1:${port}/${token}/`
      const sessions = options.sessions.length.toLocaleString("en-US")
      const what = options.dataset === undefined ? "" : `${options.dataset}, `
      yield* invocation.note(
        `${what}${sessions} sessions, ${options.redaction === "off" ? "not redacted" : "redacted"}`
      )
      if (options.marksFile !== undefined) yield* invocation.note(`marks: ${options.marksFile}`)
      yield* invocation.note("for this machine alone; Ctrl-C ends it")
      yield* invocation.result(url)
      if (input.open) yield* openBrowser(url)
    })
  )
  const server = NodeHttpServer.layer(createServer, {
    host: "127.0.0.1",
    port: input.port,
    gracefulShutdownTimeout: "1 second"
  })
  yield* Layer.launch(told.pipe(Layer.provideMerge(ViewServer.layer({ token, assets })), Layer.provide(server))).pipe(
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

const stores = SessionStore.layer.pipe(Layer.provideMerge(StoreLock.layer), Layer.provide(Sqlite.layer))

export const run = Effect.fnUntraced(
  function* (input: Input) {
    yield* checked(input)
    yield* smallNursery
    const options = yield* optionsOf(input)
    const assets = yield* ViewPage.assets
    yield* Effect.gen(function* () {
      if (Option.isSome(input.out)) return yield* writeFile(input.out.value, options.dataset !== undefined, assets)
      return yield* serve(input, options, assets)
    }).pipe(
      Effect.provide(Viewer.layer(options)),
      Effect.provide(SessionSearch.layer.pipe(Layer.provide(SearchFiles.layerNode))),
      Effect.provide(stores)
    )
  },
  Effect.mapError((error) => (error._tag === "UsageError" ? error : new CommandFailed({ text: error.message }))),
  Effect.ensuring(Effect.flatMap(Invocation, ({ progress }) => progress(""))),
  Effect.provide(StoredSessions.layer)
)
