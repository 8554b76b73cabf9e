/** What a model is told before the conversation, which no session file holds: `pi.request_context`. */
import { createHash } from "node:crypto"
import { type Json, type JsonObject } from "@pi-sessions/core/Json"

export interface RequestContext {
  readonly systemPrompt: string
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description: string; readonly parameters: Json }>
  /** The entry that Pi stood at. */
  readonly afterEntryId?: string | undefined
}

/** The SHA-256 of what is told, wherever Pi stood: another one means that something changed. */
export const sha256Of = (sessionId: string, { systemPrompt, tools }: RequestContext): string =>
  createHash("sha256").update(JSON.stringify({ sessionId, systemPrompt, tools })).digest("hex")

/** The thread entry. Told at the same place again it has the same id. */
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
