/** A viewer and its server, composed as in the command `view`. */
import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as HttpServer from "effect/http/HttpServer"
import { createServer } from "node:http"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { FileSurvey } from "@pi-sessions/catalog/FileSurvey"
import { SearchFiles } from "@pi-sessions/catalog/SearchFiles"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import { SessionIndex } from "@pi-sessions/catalog/SessionIndex"
import { SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import * as ViewServer from "../../src/ViewServer.ts"
import { Viewer, type ViewerOptions } from "../../src/Viewer.ts"

export const KEY = "ab".repeat(32)

const stores = Layer.mergeAll(SessionStore.layer, StoreMigration.layer).pipe(
  Layer.provideMerge(StoreLock.layer),
  Layer.provideMerge(Sqlite.layer)
)

/** The services that a viewer needs. */
export const services = Layer.mergeAll(SessionCatalog.layerWith, SessionSearch.layer).pipe(
  Layer.provideMerge(
    Layer.mergeAll(FileSurvey.layerNode, SessionIndex.layer, StoreSource.layerPaths([]), SearchFiles.layerNode)
  ),
  Layer.provideMerge(stores),
  Layer.provideMerge(NodeServices.layer)
)

/** Options to view a folder or a file. */
export const optionsOf = Effect.fnUntraced(function* (path: string, more: Partial<ViewerOptions> = {}) {
  const catalog = yield* SessionCatalog
  const { sessions } = yield* catalog.list({ sessions: [path], readHeaders: true })
  const options: ViewerOptions = {
    version: "0.0.0",
    sessions,
    note: "",
    begin: "sessions",
    redaction: { key: KEY },
    withPictures: true,
    format: "messages",
    ...more
  }
  return options
})

/** Stand-ins for script and style, for tests without a browser. */
export const assets = { script: "0", style: "p{}" }

/** Serves until the scope closes. */
export const serve = Effect.fnUntraced(function* (
  options: ViewerOptions,
  page: { readonly script: string; readonly style: string } = assets
) {
  const token = ViewServer.newToken()
  const layer = ViewServer.layer({ token, assets: page }).pipe(
    Layer.provide(Viewer.layer(options)),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 }))
  )
  const context = yield* Layer.build(layer)
  const { address } = yield* Effect.provideContext(HttpServer.HttpServer, context)
  if (address._tag === "UnixPathAddress") throw new Error("no port")
  return { origin: `http://127.0.0.1:${address.port}`, token, url: `http://127.0.0.1:${address.port}/${token}/` }
})

/** Writes a session file; returns its path. */
export const writeSession = (file: string, lines: ReadonlyArray<object | string>): string => {
  Fs.mkdirSync(Path.dirname(file), { recursive: true })
  Fs.writeFileSync(file, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""))
  return file
}

export const fixtures = Path.join(import.meta.dirname, "..", "..", "..", "..", "fixtures")
