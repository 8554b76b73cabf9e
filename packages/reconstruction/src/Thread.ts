/**
 * Thread entries and their payloads (docs/thread.md). Readers are tolerant: unknown types are counted, missing optional
 * fields are normal, wrong ones are reported.
 */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"
import { UnknownBlock } from "@pi-sessions/core/payload/ContentBlock"
import { Usage } from "@pi-sessions/core/payload/Usage"

/** Content as Pi writes it. A string means one text block. */
const Content = Schema.Union([Schema.String, Schema.Array(UnknownBlock)])

export const Chat = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  text: Schema.optionalKey(Schema.String),
  author: Schema.optionalKey(
    Schema.Struct({
      id: Schema.optionalKey(Schema.String),
      name: Schema.optionalKey(Schema.String),
      kind: Schema.optionalKey(Schema.String)
    })
  ),
  attachments: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        mimeType: Schema.String,
        /** Base64. */
        data: Schema.optionalKey(Schema.String)
      })
    )
  )
})
export type Chat = typeof Chat.Type

export const Assistant = Schema.Struct({
  /** Ignored; the entry's type says it. */
  role: Schema.optionalKey(AnyJson),
  content: Content,
  api: Schema.optionalKey(Schema.String),
  provider: Schema.optionalKey(Schema.String),
  model: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Usage),
  stopReason: Schema.optionalKey(Schema.String),
  errorMessage: Schema.optionalKey(Schema.String),
  /** Unix time in milliseconds. */
  timestamp: Schema.optionalKey(Schema.Number)
})
export type Assistant = typeof Assistant.Type

export const ToolResult = Schema.Struct({
  role: Schema.optionalKey(AnyJson),
  toolCallId: Schema.optionalKey(Schema.String),
  toolName: Schema.optionalKey(Schema.String),
  content: Schema.optionalKey(Schema.NullOr(Content)),
  isError: Schema.optionalKey(Schema.Boolean),
  details: Schema.optionalKey(AnyJson),
  timestamp: Schema.optionalKey(Schema.Number)
})
export type ToolResult = typeof ToolResult.Type

export const Compaction = Schema.Struct({
  summary: Schema.String,
  tokensBefore: Schema.optionalKey(Schema.Number),
  /** Id of the first thread entry that stays in the context. */
  keptFrom: Schema.optionalKey(Schema.String)
})
export type Compaction = typeof Compaction.Type

const Lineage = {
  sessionId: Schema.String,
  /** Number of the file's version; a rewrite starts the next one. Default: 0. */
  generation: Schema.optionalKey(Schema.Int),
  sha256: Schema.String
}

export const RawHeader = Schema.Struct({ ...Lineage, line: Schema.String })
export type RawHeader = typeof RawHeader.Type

export const RawEntry = Schema.Struct({
  ...Lineage,
  /** Number of the line after the header, from 1. */
  seq: Schema.Int,
  entryId: Schema.optionalKey(Schema.NullOr(Schema.String)),
  line: Schema.optionalKey(Schema.String),
  /** Instead of `line`, when the line is not valid UTF-8. */
  lineBase64: Schema.optionalKey(Schema.String)
})
export type RawEntry = typeof RawEntry.Type

export const Chunk = Schema.Struct({
  /** The same for all chunks of an answer. */
  messageId: Schema.optionalKey(Schema.String),
  /** Position in the answer. */
  idx: Schema.optionalKey(Schema.Number),
  delta: Schema.Struct({
    type: Schema.String,
    text: Schema.optionalKey(Schema.String)
  })
})
export type Chunk = typeof Chunk.Type

/** An interrupted answer, made from chunks that no `pi.assistant` follows. */
export interface Interrupted {
  /** Id of the last chunk. */
  readonly id: string
  readonly createdAt?: string
  readonly type: "interrupted"
  readonly payload: {
    readonly messageId?: string
    /** Consecutive pieces of one type (`text`, `thinking`, `toolCall`) are joined. */
    readonly parts: ReadonlyArray<{ readonly type: string; readonly text: string }>
  }
}

/** Time and place of a `pi.request_context`. */
export interface Request {
  readonly createdAt?: string
  readonly sessionId: string
  /** Pi's leaf entry when it made the request. */
  readonly afterEntryId?: string
}

/** A session entry from a raw line. Hydration writes it unchanged except for id and parent. */
export const RawSessionEntry = Schema.Struct({ type: Schema.String })

const entry = <const Type extends string, Payload extends Schema.Top>(type: Type, payload: Payload) =>
  Schema.Struct({
    id: Schema.String,
    threadId: Schema.optionalKey(Schema.String),
    /** ISO 8601. */
    createdAt: Schema.optionalKey(Schema.String),
    type: Schema.Literal(type),
    payload
  })

/** The thread entries that hydration uses. Unknown fields are kept. */
export const ThreadEntry = Schema.Union([
  entry("chat", Chat),
  entry("pi.assistant", Assistant),
  entry("pi.tool_result", ToolResult),
  entry("pi.compaction", Compaction),
  entry("pi.session_header", RawHeader),
  entry("pi.session_entry", RawEntry),
  entry("raw", RawSessionEntry)
]).pipe(Schema.toTaggedUnion("type"))
export type ThreadEntry = typeof ThreadEntry.Type | Interrupted

/** A problem in the thread. Every entry that is left out is reported. */
export interface ThreadDiagnostic {
  readonly line: number
  readonly byteOffset: number
  readonly entryId: string | undefined
  readonly message: string
}

export interface Thread {
  /** From the first entry with a `threadId`; else from the reader's caller; else the first entry's own id. */
  readonly id: string
  /** Entries that hydration uses, in thread order, each id once. An interrupted answer is at its last chunk. */
  readonly entries: ReadonlyArray<ThreadEntry>
  /** Pi's requests to a model, in thread order. */
  readonly requests: ReadonlyArray<Request>
  /** Number of unused entries by type: chunks, request contexts, unknown types. */
  readonly passedOver: ReadonlyMap<string, number>
  /** Number of entries whose id came before; delivery is at least once. */
  readonly repeated: number
  readonly diagnostics: ReadonlyArray<ThreadDiagnostic>
}

/** `THREAD:12 (byte 345, entry th_1:chat:7): ...` */
export const formatDiagnostic = (source: string, diagnostic: ThreadDiagnostic): string => {
  const entry = diagnostic.entryId === undefined ? "" : `, entry ${diagnostic.entryId}`
  return `${source}:${diagnostic.line} (byte ${diagnostic.byteOffset}${entry}): ${diagnostic.message}`
}
