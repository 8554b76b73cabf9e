/** The header: the first line of a session file. */
import * as Schema from "effect/Schema"
import { type JsonObject } from "./Json.ts"
import * as ValueText from "./ValueText.ts"

/** The version that Pi 0.78 to 1.5 write. */
export const CURRENT_VERSION = 3

/**
 * Type of the custom entry at the start of a hydrated session. It says what `hydratedFrom` in the header says, and goes
 * along where Pi forks the session and drops the header's fields it does not know.
 */
export const HYDRATED_ENTRY_TYPE = "pi-sessions.hydrated"

/**
 * Field of an entry that is an answer which hydration made: no model gave it behind the context that it stands in. The
 * answers that follow it in the session are genuine. Sessions whose custom entry says `marks: "answers"` have it.
 */
export const HYDRATED_FIELD = "hydrated"

/**
 * Pi's rule for ids it makes or is given by `--session-id` (0.78.0, `assertValidSessionId`); it does not check the id
 * of a file it opens.
 */
export const ID_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

/**
 * Fields of the header. Only `type` and `id` are needed for Pi to take the file for a session; without `version` it
 * takes it for version 1 and migrates it. Unknown fields are allowed and kept.
 */
export const SessionHeader = Schema.Struct({
  type: Schema.Literal("session"),
  id: Schema.String,
  version: Schema.optionalKey(Schema.Number),
  /** ISO 8601. */
  timestamp: Schema.optionalKey(Schema.String),
  /** Working directory of the conversation; Pi runs there, and refuses to start (print mode) when it is gone. */
  cwd: Schema.optionalKey(Schema.String),
  /** Path of the file this one was forked from. */
  parentSession: Schema.optionalKey(Schema.String),
  /** Version 1 only, and pi-rust. */
  provider: Schema.optionalKey(Schema.String),
  modelId: Schema.optionalKey(Schema.String),
  thinkingLevel: Schema.optionalKey(Schema.String),
  /** Version 1 only. */
  branchedFrom: Schema.optionalKey(Schema.String),
  /** The program that wrote the session, where it was not Pi (Hugging Face agent traces). */
  harness: Schema.optionalKey(Schema.String),
  /** Written by hydration: text in this file that no model produced in this form (thread.md). */
  hydratedFrom: Schema.optionalKey(Schema.Struct({ threadId: Schema.String, mode: Schema.Literal("semantic") }))
})
export type SessionHeader = typeof SessionHeader.Type

export const isSessionHeader = Schema.is(SessionHeader)

/** Version of the session under a header: 1 when it does not say. Text counts as its number, as where Pi compares it. */
export const versionOf = (header: JsonObject): number => {
  const value = header["version"] ?? 1
  const version = Number(typeof value === "object" ? ValueText.textOf(value) : value)
  return Number.isNaN(version) ? CURRENT_VERSION : version
}
