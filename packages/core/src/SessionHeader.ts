/** The header: the first line of a session file. */
import * as Schema from "effect/Schema"
import { type JsonObject } from "./Json.ts"
import * as ValueText from "./ValueText.ts"

/** The version that Pi 0.78 to 1.5 write. */
export const CURRENT_VERSION = 3

/**
 * Type of the custom entry at the start of a hydrated session. It repeats `hydratedFrom`, because Pi drops unknown fields
 * of the header when it forks a session.
 */
export const HYDRATED_ENTRY_TYPE = "pi-sessions.hydrated"

/**
 * Field of an answer that hydration wrote: no model gave it in this context. Answers without the field are genuine. Only
 * sessions whose hydration entry has `marks: "answers"` use the field.
 */
export const HYDRATED_FIELD = "hydrated"

/** Pi's rule for new session ids (0.78.0, `assertValidSessionId`). It does not check the id of a file that it opens. */
export const ID_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

/**
 * Fields of the header. Pi opens a file whose header has `type` and `id`; one without `version` is version 1, which it
 * migrates. Unknown fields are allowed and kept.
 */
export const SessionHeader = Schema.Struct({
  type: Schema.Literal("session"),
  id: Schema.String,
  version: Schema.optionalKey(Schema.Number),
  /** ISO 8601. */
  timestamp: Schema.optionalKey(Schema.String),
  /** Working directory of the conversation. Pi runs there, and does not start (print mode) when it does not exist. */
  cwd: Schema.optionalKey(Schema.String),
  /** Path of the session that this one is a fork of. */
  parentSession: Schema.optionalKey(Schema.String),
  /** Version 1 only, and pi-rust. */
  provider: Schema.optionalKey(Schema.String),
  modelId: Schema.optionalKey(Schema.String),
  thinkingLevel: Schema.optionalKey(Schema.String),
  /** Version 1 only. */
  branchedFrom: Schema.optionalKey(Schema.String),
  /** The program that wrote the session, where it is not Pi (Hugging Face agent traces). */
  harness: Schema.optionalKey(Schema.String),
  /** Written by hydration: answers in this file may be reconstructed (docs/adr/001-resume-from-a-thread.md). */
  hydratedFrom: Schema.optionalKey(Schema.Struct({ threadId: Schema.String, mode: Schema.Literal("semantic") }))
})
export type SessionHeader = typeof SessionHeader.Type

/** Version of a session. Default: 1. A string counts as its number, as in Pi's comparison. */
export const versionOf = (header: JsonObject): number => {
  const value = header["version"] ?? 1
  const version = Number(typeof value === "object" ? ValueText.textOf(value) : value)
  return Number.isNaN(version) ? CURRENT_VERSION : version
}
