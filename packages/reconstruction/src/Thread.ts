/**
 * An arbe thread: the entries of seed 000 with the payloads that docs/thread.md fixes. Readers are tolerant: an
 * unknown type is kept and counted, a missing optional field is normal, a wrong one is a diagnostic.
 */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"
import { UnknownBlock } from "@pi-sessions/core/payload/ContentBlock"
import { Usage } from "@pi-sessions/core/payload/Usage"

/** Content as Pi writes it; a plain string is taken for one text block. */
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
  /** Passed over: the type of the entry says it. */
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
  /** Thread entry from which on the context was kept. */
  keptFrom: Schema.optionalKey(Schema.String)
})
export type Compaction = typeof Compaction.Type

const Lineage = {
  sessionId: Schema.String,
  /** One append-only life of the file; it grows when Pi rewrites it. */
  generation: Schema.optionalKey(Schema.Int),
  sha256: Schema.String
}

export const RawHeader = Schema.Struct({ ...Lineage, line: Schema.String })
export type RawHeader = typeof RawHeader.Type

export const RawEntry = Schema.Struct({
  ...Lineage,
  /** Counts lines from 1 after the header. */
  seq: Schema.Int,
  entryId: Schema.optionalKey(Schema.NullOr(Schema.String)),
  line: Schema.optionalKey(Schema.String),
  /** In place of `line` where it is not valid UTF-8. */
  lineBase64: Schema.optionalKey(Schema.String)
})
export type RawEntry = typeof RawEntry.Type

export const Chunk = Schema.Struct({
  /** Chunks of one answer share it. */
  messageId: Schema.optionalKey(Schema.String),
  /** Order within the answer. */
  idx: Schema.optionalKey(Schema.Number),
  delta: Schema.Struct({
    type: Schema.String,
    text: Schema.optionalKey(Schema.String)
  })
})
export type Chunk = typeof Chunk.Type

/** An answer that was cut off in the middle: what its chunks had brought, and no `pi.assistant` after them. */
export interface Interrupted {
  /** Of the last chunk. */
  readonly id: string
  readonly createdAt?: string
  readonly type: "interrupted"
  readonly payload: {
    readonly messageId?: string
    /** Pieces of one kind in a row are joined: `text`, `thinking`, `toolCall`. */
    readonly parts: ReadonlyArray<{ readonly type: string; readonly text: string }>
  }
}

/** What a `pi.request_context` says of its place. */
export interface Request {
  readonly createdAt?: string
  readonly sessionId: string
  /** The entry that Pi stood at. */
  readonly afterEntryId?: string
}

/** An entry of a session, from a raw line that survived: it is written as it is, with another id and parent. */
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

/** The thread entries that hydration uses. A guard: what it accepts keeps its unknown fields. */
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

/** Something about the thread that a person may want to know; nothing is lost silently. */
export interface ThreadDiagnostic {
  readonly line: number
  readonly byteOffset: number
  readonly entryId: string | undefined
  readonly message: string
}

export interface Thread {
  /** From the first entry that names it; else the first entry's own id. */
  readonly id: string
  /** Entries that hydration uses, in thread order, each id once; interrupted answers stand where their last chunk stood. */
  readonly entries: ReadonlyArray<ThreadEntry>
  /** Requests that Pi made to a model, in thread order. */
  readonly requests: ReadonlyArray<Request>
  /** Entries that were read but not used, by type: chunks, request contexts, types unknown here. */
  readonly passedOver: ReadonlyMap<string, number>
  /** How many entries came again with an id seen before; delivery is at least once. */
  readonly repeated: number
  readonly diagnostics: ReadonlyArray<ThreadDiagnostic>
}

/** `THREAD:12 (byte 345, entry th_1:chat:7): ...` */
export const formatDiagnostic = (source: string, diagnostic: ThreadDiagnostic): string => {
  const entry = diagnostic.entryId === undefined ? "" : `, entry ${diagnostic.entryId}`
  return `${source}:${diagnostic.line} (byte ${diagnostic.byteOffset}${entry}): ${diagnostic.message}`
}
