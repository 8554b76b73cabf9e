/**
 * A model with scripted answers: an OpenAI-compatible server on loopback which records every request.
 *
 * It answers `POST /v1/chat/completions` with server-sent events, as Pi's `openai-completions` provider reads them.
 * A request it does not understand, or a script that throws, is answered with an HTTP error and thus seen in Pi's output.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type * as Net from "node:net"
import * as Consumers from "node:stream/consumers"
import * as chatStream from "./internal/chatStream.ts"
import type { ScriptedReply } from "./ScriptedReply.ts"

export type { ScriptedReply } from "./ScriptedReply.ts"

const Rest = [Schema.Record(Schema.String, Schema.Unknown)] as const

/** A call of a tool in the history that the model gets. */
export const ChatToolCall = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
  }),
  Rest
)

/** A part of a message's content: text, or an image as `image_url`. */
export const ChatContentPart = Schema.StructWithRest(
  Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) }),
  Rest
)

/** A message of the history that the model gets. Unknown keys are kept. */
export const ChatMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literals(["system", "developer", "user", "assistant", "tool"]),
    content: Schema.optionalKey(Schema.Union([Schema.String, Schema.Null, Schema.Array(ChatContentPart)])),
    tool_calls: Schema.optionalKey(Schema.Array(ChatToolCall)),
    tool_call_id: Schema.optionalKey(Schema.String)
  }),
  Rest
)
export type ChatMessage = typeof ChatMessage.Type

/** A tool offered to the model. */
export const ChatTool = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.String,
    function: Schema.StructWithRest(Schema.Struct({ name: Schema.String }), Rest)
  }),
  Rest
)

/** What the model was sent. Unknown keys are kept. */
export const ChatRequest = Schema.StructWithRest(
  Schema.Struct({
    model: Schema.String,
    messages: Schema.Array(ChatMessage),
    tools: Schema.optionalKey(Schema.Array(ChatTool))
  }),
  Rest
)
export type ChatRequest = typeof ChatRequest.Type

const decodeRequest = Schema.decodeUnknownResult(Schema.fromJsonString(ChatRequest))

/** The text of a message, its parts joined; images and calls count for nothing. */
export const textOf = (message: ChatMessage): string =>
  typeof message.content === "string"
    ? message.content
    : (message.content ?? []).map((part) => part.text ?? "").join("")

/** The answer to the n-th request, from 0. A list that has run out, and no script at all, answer "ok". */
export type Script = ReadonlyArray<ScriptedReply> | ((request: ChatRequest, index: number) => ScriptedReply)

/** A running model. */
export interface ScriptedModel {
  /** The base URL to configure, which ends in `/v1`. */
  readonly url: string
  /** All requests so far, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<ChatRequest>>
}

const respondWithError = (response: Http.ServerResponse, status: number, message: string): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify({ error: { message, type: "scripted", code: status } }))
}

const respond = Effect.fnUntraced(function* (
  response: Http.ServerResponse,
  reply: ScriptedReply,
  request: { readonly model: string; readonly index: number }
) {
  if ("status" in reply) return respondWithError(response, reply.status, reply.message ?? `scripted ${reply.status}`)
  const { beforePause, afterPause } = chatStream.events(reply, request)
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(beforePause)
  if (reply.pause !== undefined) yield* reply.pause
  if (reply.drop === true) {
    // What was written has to reach Pi before the connection goes.
    yield* Effect.callback<void>((resume) => {
      response.write(":\n\n", () => resume(Effect.void))
    })
    response.destroy()
    return
  }
  response.end(afterPause)
})

/** Starts the model; it stops with the scope. */
export const make = Effect.fnUntraced(function* (
  script: Script = []
): Effect.fn.Return<ScriptedModel, never, Scope.Scope> {
  const requests: Array<ChatRequest> = []
  const answer =
    typeof script === "function" ? script : (_: ChatRequest, index: number) => script[index] ?? { text: "ok" }

  const handle = Effect.fnUntraced(
    function* (request: Http.IncomingMessage, response: Http.ServerResponse) {
      const body = yield* Effect.promise(() => Consumers.text(request))
      if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
        return respondWithError(response, 404, `no such thing: ${request.method} ${request.url}`)
      }
      const decoded = decodeRequest(body)
      if (Result.isFailure(decoded)) return respondWithError(response, 400, decoded.failure.message)
      const index = requests.push(decoded.success) - 1
      yield* respond(response, answer(decoded.success, index), { model: decoded.success.model, index })
    },
    (effect, _, response) =>
      effect.pipe(
        Effect.catchDefect((defect) =>
          Effect.sync(() =>
            response.headersSent ? response.destroy() : respondWithError(response, 500, Cause.pretty(Cause.die(defect)))
          )
        ),
        Effect.raceFirst(Effect.callback<void>((resume) => void response.once("close", () => resume(Effect.void))))
      )
  )

  const run = yield* FiberSet.makeRuntime()
  const server = yield* Effect.acquireRelease(
    Effect.callback<Http.Server>((resume) => {
      const server = Http.createServer((request, response) => void run(handle(request, response)))
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  return {
    url: `http://127.0.0.1:${portOf(server.address())}/v1`,
    requests: Effect.sync(() => [...requests])
  }
})

const portOf = (address: string | Net.AddressInfo | null): number => {
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port")
  return address.port
}
