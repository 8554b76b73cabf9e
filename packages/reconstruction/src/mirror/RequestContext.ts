/** The system prompt and tools that a model gets, which no session file holds: `pi.request_context`. */
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import { sha256 } from "../internal/sha256.ts"

export interface RequestContext {
  readonly systemPrompt: string
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description: string; readonly parameters: Json }>
  /** Pi's leaf entry when it made the request. */
  readonly afterEntryId?: string | undefined
}

/** Hash of prompt and tools, without `afterEntryId`; it differs once they change. */
export const sha256Of = (sessionId: string, { systemPrompt, tools }: RequestContext): string =>
  sha256(JSON.stringify({ sessionId, systemPrompt, tools }))

/** The thread entry. The same context at the same leaf has the same id. */
export const entryOf = (
  { threadId, sessionId }: { readonly threadId: string; readonly sessionId: string },
  context: RequestContext,
  createdAt: string
): JsonObject => {
  const { afterEntryId, systemPrompt, tools } = context
  const sha256 = sha256Of(sessionId, context)
  return {
    id: `${threadId}:pi:context:${sessionId}:${afterEntryId ?? "start"}:${sha256.slice(0, 16)}`,
    threadId,
    type: "pi.request_context",
    createdAt,
    payload: {
      sessionId,
      systemPrompt,
      tools,
      sha256,
      ...(afterEntryId === undefined ? {} : { afterEntryId })
    }
  }
}
