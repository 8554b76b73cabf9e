/** The part of Pi's extension API that the mirror uses. It is the same in 0.78 and 1.5; declared here to depend on neither. */

/** The second argument of handlers. Its methods may throw once its session was replaced. */
export interface PiContext {
  readonly hasUI: boolean
  readonly ui: { notify(message: string, type?: "info" | "warning" | "error"): void }
  readonly sessionManager: {
    /** Undefined when Pi does not save the session. */
    getSessionFile(): string | undefined
    getSessionId(): string
    getLeafId(): string | null
  }
  getSystemPrompt(): string
}

export interface SessionStart {
  readonly reason: "startup" | "reload" | "new" | "resume" | "fork"
}

export interface MessageUpdate {
  readonly message: { readonly timestamp?: unknown }
  readonly assistantMessageEvent: {
    /** `text_delta`, `thinking_delta`, `toolcall_delta` and others. */
    readonly type: string
    readonly contentIndex?: unknown
    readonly delta?: unknown
  }
}

/** Events after which the session file may have grown. Pi 0.78 does not have the last three and ignores them. */
export const FILE_EVENTS = [
  "session_tree",
  "session_compact",
  "message_start",
  "message_end",
  "turn_end",
  "agent_end",
  "model_select",
  "thinking_level_select",
  "session_info_changed",
  "session_compact_failed",
  "agent_settled"
] as const

type Handler<Event> = (event: Event, context: PiContext) => void | Promise<void>

export interface PiApi {
  on(event: "session_start", handler: Handler<SessionStart>): unknown
  on(event: "message_update", handler: Handler<MessageUpdate>): unknown
  on(
    event: "session_shutdown" | "before_provider_request" | (typeof FILE_EVENTS)[number],
    handler: Handler<unknown>
  ): unknown
  getActiveTools(): ReadonlyArray<string>
  getAllTools(): ReadonlyArray<{ readonly name: string; readonly description: string; readonly parameters: unknown }>
}
