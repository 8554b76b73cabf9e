/** An HTTP server whose answers the test writes. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"

export interface Received {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly body: string
}

export interface FaultyServer {
  readonly url: string
  /** Requests so far. */
  readonly received: ReadonlyArray<Received>
}

/** Answers the request that is the `count`th, from 1 on. */
export type Answer = (request: Received, response: Http.ServerResponse, count: number) => void

export const make = (answer: Answer): Effect.Effect<FaultyServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly server: Http.Server; readonly faulty: FaultyServer }>((resume) => {
      const received: Array<Received> = []
      const server = Http.createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const { method = "", url = "" } = request
          const body = Buffer.concat(chunks).toString("utf8")
          received.push({ method, url, authorization: request.headers.authorization, body })
          answer(received.at(-1)!, response, received.length)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ server, faulty: { url: `http://127.0.0.1:${port}`, received } }))
      })
    }),
    ({ server }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(Effect.map(({ faulty }) => faulty))

/** Answers with a status and a JSON document. */
export const json = (response: Http.ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

/** A chat entry. */
export const chat = (n: number, text = `words ${n}`) => ({
  id: `e${n}`,
  type: "chat",
  payload: { role: "user", text }
})
