/** Messages of Claude Code itself to the model: their custom types in sessions, and how transcripts mark them. */
import { PRIME_CUSTOM_TYPE } from "../gasTown/GasTownBeacon.ts"
import { type Json, type JsonObject, objectAt, stringAt } from "../Json.ts"

// Types of `custom_message` entries.

/** Instructions and reminders, such as the text of a skill. */
export const META_TYPE = "claude-code.meta"
/** The summary of a compaction. */
export const SUMMARY_TYPE = "claude-code.summary"
/** A command of the user for Claude Code or the shell, or its output. */
export const COMMAND_TYPE = "claude-code.command"
/** News of background tasks. */
export const NOTIFICATION_TYPE = "claude-code.notification"
/** A marker that the user interrupted the answer or rejected a call. */
export const INTERRUPTION_TYPE = "claude-code.interruption"

/** Output of a hook, except of `gt prime`, which has Gas Town's type. */
export const HOOK_TYPE = "claude-code.hook"

/** Type of `custom` entries for attachments whose text is not in the transcript. */
export const ATTACHMENT_TYPE = "claude-code.attachment"
/** Type of the last `custom` entry, which has the transcript's version. */
export const ORIGIN_TYPE = "claude-code.origin"

/** The marker of an interrupted answer. */
export const INTERRUPTED = "[Request interrupted by user]"
const MARKS = new Set([INTERRUPTED, "[Request interrupted by user for tool use]"])

/** Whether a text is a marker of an interruption and nothing else. */
export const isInterruption = (text: string): boolean => MARKS.has(text.trim())

const COMMAND = /^<(?:command-(?:name|message)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr))>/u
const NOTIFICATION = /^<(?:task-notification|system-reminder)>/u

/** The custom type of a user's line; undefined when the user wrote it. */
export const typeOf = (line: JsonObject, text: string): string | undefined => {
  if (line["isCompactSummary"] === true) return SUMMARY_TYPE
  if (isInterruption(text)) return INTERRUPTION_TYPE
  if (COMMAND.test(text)) return COMMAND_TYPE
  if (line["isMeta"] === true) return META_TYPE
  return isHuman(line) && !NOTIFICATION.test(text) ? undefined : NOTIFICATION_TYPE
}

/** An attachment whose text is in the transcript. */
export interface Attached {
  /** As in the transcript: a text, or a list of texts and blocks. */
  readonly content: Json
  /** Undefined when the user wrote it. */
  readonly customType: string | undefined
}

/** Events whose hooks send their output to the model. */
const SPEAKING = new Set<Json | undefined>(["SessionStart", "UserPromptSubmit"])

/** The content of an attachment; undefined when its text is not in the transcript. */
export const attached = (attachment: JsonObject): Attached | undefined => {
  const { commandMode = "prompt", content = "", prompt = "" } = attachment
  switch (attachment["type"]) {
    case "queued_command": {
      const isPerson = commandMode === "prompt" && isHuman(attachment)
      return { content: prompt, customType: isPerson ? undefined : NOTIFICATION_TYPE }
    }
    case "hook_additional_context":
      return { content, customType: HOOK_TYPE }
    case "hook_success": {
      const isPrime = /\bgt prime\b/u.test(stringAt(attachment, "command") ?? "")
      const customType = isPrime ? PRIME_CUSTOM_TYPE : HOOK_TYPE
      return SPEAKING.has(attachment["hookEvent"]) ? { content, customType } : undefined
    }
    default:
      return undefined
  }
}

const isHuman = (line: JsonObject): boolean => (stringAt(objectAt(line, "origin") ?? {}, "kind") ?? "human") === "human"
