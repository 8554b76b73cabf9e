/** Replies that a scripted model sends. */
import type * as Effect from "effect/Effect"

/** A call of a tool that the model makes. */
export interface ScriptedToolCall {
  /** Default: `call_<request>_<position>`. */
  readonly id?: string
  readonly name: string
  /** A string is sent unchanged, so it can be malformed JSON. */
  readonly arguments: string | Readonly<Record<string, unknown>>
}

/** Token counts of a turn. */
export interface ScriptedUsage {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly reasoning?: number
}

/** An answer in the form of a message. Its parts come in the order of the fields. */
export interface ScriptedMessage {
  readonly thinking?: string
  readonly text?: string
  readonly toolCalls?: ReadonlyArray<ScriptedToolCall>
  /** Default: 10 input and 5 output tokens. */
  readonly usage?: ScriptedUsage
  /** Default: `tool_calls` if the message has calls, else `stop`. */
  readonly finishReason?: "stop" | "length" | "tool_calls" | "content_filter"
  /** Runs in mid-stream: after the thinking and the first half of the text. `Effect.never` hangs until Pi gives up. */
  readonly pause?: Effect.Effect<void>
  /** Cuts the connection at the place of the pause, and after it. */
  readonly drop?: boolean
}

/** An answer in the form of an HTTP error. */
export interface ScriptedError {
  readonly status: number
  readonly message?: string
}

/** What the model answers to one request. */
export type ScriptedReply = ScriptedMessage | ScriptedError
