/** The HTTP server: routes, database and shutdown. */
import { createServer } from "node:http"
import type { Duplex } from "node:stream"
import * as Layer from "effect/Layer"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ThreadApi } from "@pi-sessions/reconstruction/ThreadApi"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { EntryStore } from "./EntryStore.ts"
import * as RequestAddress from "./RequestAddress.ts"
import * as ThreadHandlers from "./ThreadHandlers.ts"

export interface Options extends ThreadHandlers.Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Path of the database. */
  readonly database: string
}

/** Serves until its scope closes; then it accepts no connections and finishes the running requests. */
export const layer = (options: Options) => {
  const api = HttpApiBuilder.layer(ThreadApi).pipe(Layer.provide(ThreadHandlers.layer(options)))
  return HttpRouter.serve(Layer.merge(api, RequestAddress.layer), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: { maxParamLength: RequestAddress.MAX_NAME }
  }).pipe(
    Layer.provide(EntryStore.layer(options.database)),
    Layer.provide([Sqlite.layer, NodeFileSystem.layer]),
    Layer.provideMerge(
      NodeHttpServer.layer(nodeServer, {
        host: options.host,
        port: options.port,
        gracefulShutdownTimeout: "5 seconds"
      })
    )
  )
}

/** A server that closes with its last request. Node would keep that connection open for seconds. */
const nodeServer = () => {
  const server = createServer()
  server.on("request", (_request, response) =>
    response.once("close", () => {
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
  )
  server.on("clientError", answerUnreadable)
  return server
}

/** Statuses that Node answers without a body when it cannot read a request. */
const UNREADABLE: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout"
}

/** Answers invalid HTTP, such as a path that is not percent-encoded. */
const answerUnreadable = (error: Error & { readonly code?: string }, socket: Duplex): void => {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy(error)
  const status = UNREADABLE[error.code ?? ""] ?? "400 Bad Request"
  const message = "this is no HTTP request; percent-encode the thread's id in the path, as encodeURIComponent does"
  const body = JSON.stringify({ _tag: "Malformed", message: status.startsWith("400") ? message : status })
  const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`)
}
