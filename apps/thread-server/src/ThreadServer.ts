/** A server of the ThreadApi on this machine. */
import { createServer } from "node:http"
import * as Layer from "effect/Layer"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ThreadApi } from "@pi-sessions/reconstruction/ThreadApi"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { EntryStore } from "./EntryStore.ts"
import * as ThreadHandlers from "./ThreadHandlers.ts"

export interface Options extends ThreadHandlers.Options {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** The database's file. */
  readonly database: string
}

/** Serves until its scope ends; then it takes no more connections and finishes the requests it has. */
export const layer = (options: Options) => {
  const api = HttpApiBuilder.layer(ThreadApi).pipe(Layer.provide(ThreadHandlers.layer(options)))
  return HttpRouter.serve(api, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(EntryStore.layer(options.database)),
    Layer.provide(Sqlite.layer),
    Layer.provideMerge(
      NodeHttpServer.layer(nodeServer, {
        host: options.host,
        port: options.port,
        gracefulShutdownTimeout: "5 seconds"
      })
    )
  )
}

/** A server that ends with its last request: a connection which had one when it closed would be kept for seconds. */
const nodeServer = () => {
  const server = createServer()
  server.on("request", (_request, response) =>
    response.once("close", () => {
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
  )
  return server
}
