/** A thread server in memory (docs/openapi.json), which refuses other tokens than its own. */
import { Effect, type Scope } from "effect"
import * as Http from "node:http"
import type * as Net from "node:net"
import * as Consumers from "node:stream/consumers"

interface Entry {
  readonly id: string
  readonly type: string
}

export interface Server {
  readonly url: string
  readonly port: number
  /** Requests so far. */
  readonly requests: () => number
  readonly entries: (threadId: string) => ReadonlyArray<Entry>
}

/** Starts a server. Port 0: any free one. */
export const make = (token: string, port = 0): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const threads = new Map<string, Map<string, Entry>>()
    let requests = 0
    const answer = async (request: Http.IncomingMessage, response: Http.ServerResponse) => {
      requests++
      const send = (status: number, body: object) => {
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify(body))
      }
      const text = await Consumers.text(request)
      if (request.headers.authorization !== `Bearer ${token}`) {
        return send(401, { message: `no such token: ${request.headers.authorization}` })
      }
      const id = /^\/threads\/([^/]+)\/entries/.exec(request.url ?? "")?.[1] ?? ""
      const held = threads.get(id) ?? new Map<string, Entry>()
      if (request.method === "GET") {
        return threads.has(id)
          ? send(200, { entries: [...held.values()], next: null })
          : send(404, { message: "no such thread" })
      }
      threads.set(id, held)
      const { entries }: { entries: ReadonlyArray<Entry> } = JSON.parse(text)
      const before = held.size
      for (const entry of entries) if (!held.has(entry.id)) held.set(entry.id, entry)
      const accepted = held.size - before
      return send(200, { accepted, repeated: entries.length - accepted })
    }
    const server = yield* Effect.acquireRelease(
      Effect.callback<Http.Server>((resume) => {
        const server = Http.createServer((request, response) => void answer(request, response))
        server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address() as Net.AddressInfo
    return {
      url: `http://127.0.0.1:${address.port}`,
      port: address.port,
      requests: () => requests,
      entries: (threadId) => [...(threads.get(threadId)?.values() ?? [])]
    }
  })
