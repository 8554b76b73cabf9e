/**
 * What Claude Code tells the model beside what a person says, by the types that the entries of a session have for it (see
 * ClaudeCodeSession.ts).
 */
import { PRIME_CUSTOM_TYPE } from "../gasTown/GasTownBeacon.ts"
import { type Json, type JsonObject, objectAt, stringAt } from "../Json.ts"

// Types of `custom_message` entries: what stands in the user's place.

/** Instructions and reminders, such as the text of a skill. */
export const META_TYPE = "claude-code.meta"
/** What a compaction left of what was said before it. */
export const SUMMARY_TYPE = "claude-code.summary"
/** A command of the person for Claude Code itself or for the shell, or what it printed. */
export const COMMAND_TYPE = "claude-code.command"
/** News of what runs in the background. */
export const NOTIFICATION_TYPE = "claude-code.notification"
/** That the person interrupted the answer or refused a call. */
export const INTERRUPTION_TYPE = "claude-code.interruption"

/** What a hook told; of one that ran `gt prime` the type is Gas Town's own. */
export const HOOK_TYPE = "claude-code.hook"

/** Type of `custom` entries for what else was told; the transcript does not say in what words. */
export const ATTACHMENT_TYPE = "claude-code.attachment"
/** Type of the last `custom` entry, which says of which version the transcript is. */
export const ORIGIN_TYPE = "claude-code.origin"

/** The mark where an answer was interrupted. */
export const INTERRUPTED = "[Request interrupted by user]"
const MARKS = new Set([INTERRUPTED, "[Request interrupted by user for tool use]"])

/** Whether a text says that the person interrupted something, and nothing else. */
export const isInterruption = (text: string): boolean => MARKS.has(text.trim())

const COMMAND = /^<(?:command-(?:name|message)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr))>/u
const NOTIFICATION = /^<(?:task-notification|system-reminder)>/u

/** The type of what a user's line says; undefined where a person said it. */
export const typeOf = (line: JsonObject, text: string): string | undefined => {
  if (line["isCompactSummary"] === true) return SUMMARY_TYPE
  if (isInterruption(text)) return INTERRUPTION_TYPE
  if (COMMAND.test(text)) return COMMAND_TYPE
  if (line["isMeta"] === true) return META_TYPE
  return isHuman(line) && !NOTIFICATION.test(text) ? undefined : NOTIFICATION_TYPE
}

/** Something told as an attachment in words that the transcript has. */
export interface Attached {
  /** As in the transcript: a text, or texts and blocks. */
  readonly content: Json
  /** Undefined where a person said it. */
  readonly customType: string | undefined
}

/** Events whose hooks speak to the model by what they print. */
const SPEAKING = new Set<Json | undefined>(["SessionStart", "UserPromptSubmit"])

/** What an attachment says; undefined where its words are not in the transcript. */
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

const isHuman = (told: JsonObject): boolean => (stringAt(objectAt(told, "origin") ?? {}, "kind") ?? "human") === "human"
