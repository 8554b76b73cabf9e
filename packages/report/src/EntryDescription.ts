/** Describes an entry for people: kind, a few words, parts. Accepts damaged payloads and shows what is readable. */
import { type Json, type JsonObject, isArray, isObject, numberAt, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as EntryTime from "@pi-sessions/core/EntryTime"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { counted, numberText } from "./Counted.ts"
import { type Depth, reaches } from "./TimelineDepth.ts"
import { type TimelineItem } from "./TimelineItem.ts"
import { type TimelinePart } from "./TimelinePart.ts"
import { data, output, partsOf, text } from "./internal/contentParts.ts"
import { shownJson } from "./ShownJson.ts"

type Described = Pick<TimelineItem, "kind" | "depth" | "about" | "failed" | "parts" | "time">

type Description = Omit<Described, "time" | "failed"> & { readonly failed?: boolean }

/** The item of an entry, without its place in the session. */
export const describe = (entry: SessionEntry, payload: JsonObject): Described => ({
  failed: false,
  ...describeByType(entry, payload),
  time: EntryTime.of(entry, payload)
})

const describeByType = (entry: SessionEntry, payload: JsonObject): Description => {
  switch (entry.type) {
    case "message": {
      const message = objectAt(payload, "message")
      return message === undefined ? unknown("message without a message", payload) : describeMessage(message)
    }
    case "custom_message":
      return customMessage(payload)
    case "compaction":
      return compaction(payload)
    case "branch_summary":
      return {
        kind: "branch_summary",
        depth: "session",
        about: named("from", payload, "fromId"),
        parts: [...texts("session", payload["summary"]), ...data("details", payload["details"])]
      }
    case "label":
      return label(payload)
    case "session_info": {
      const name = stringAt(payload, "name")?.trim() ?? ""
      return { kind: "name", depth: "session", about: name === "" ? "taken away" : `"${name}"`, parts: [] }
    }
    case "model_change":
      return { kind: "model", depth: "assistant", about: modelOf(payload, "modelId"), parts: [] }
    case "thinking_level_change":
      return { kind: "thinking_level", depth: "assistant", about: plain(payload["thinkingLevel"]), parts: [] }
    case "context_edit":
      return contextEdit(payload)
    case "usage":
      return {
        kind: "usage",
        depth: "full",
        about: some(plain(payload["kind"]), modelOf(payload, "model"), tokens(payload), plain(payload["note"])),
        parts: []
      }
    case "custom":
      return {
        kind: "custom",
        depth: "full",
        about: plain(payload["customType"]),
        parts: data("data", payload["data"])
      }
    default:
      return unknown(entry.type === "" ? "entry without a type" : `entry of type "${entry.type}"`, payload)
  }
}

const describeMessage = (message: JsonObject): Description => {
  switch (message["role"]) {
    case "user":
      return { kind: "user", depth: "user", about: "", parts: partsOf(message["content"], "user") }
    case "assistant":
      return assistant(message)
    case "toolResult": {
      const failed = message["isError"] === true
      return {
        kind: "tool_result",
        depth: "tools",
        about: plain(message["toolName"]),
        failed,
        parts: [
          ...output(message["content"], stringAt(message, "toolCallId") ?? ""),
          ...data("details", message["details"]),
          ...data("nestedCalls", message["nestedCalls"])
        ]
      }
    }
    case "bashExecution":
      return bash(message)
    case "custom":
      return customMessage(message)
    case "system":
      return system(message)
    default:
      return unknown(`message of role "${plain(message["role"])}"`, message)
  }
}

const assistant = (message: JsonObject): Description => {
  const { errorMessage, stopReason } = message
  const parts = [...partsOf(message["content"], "assistant"), ...texts("assistant", errorMessage)]
  const ended = stopReason === "stop" || stopReason === "toolUse" ? "" : plain(stopReason)
  const failed = stopReason === "error" || stopReason === "aborted"
  // An answer that only calls tools appears with its calls; a failed one appears with the other answers.
  const depth = failed ? "assistant" : shallowest(parts)
  return { kind: "assistant", depth, about: some(modelOf(message, "model"), ended, tokens(message)), failed, parts }
}

const shallowest = (parts: ReadonlyArray<TimelinePart>): Depth =>
  parts.reduce<Depth>((depth, part) => (reaches(depth, part.depth) ? part.depth : depth), "full")

const bash = (message: JsonObject): Description => {
  const exitCode = numberAt(message, "exitCode")
  const cancelled = message["cancelled"] === true
  const hidden = message["excludeFromContext"] === true
  return {
    kind: "bash",
    depth: "user",
    about: some(
      hidden ? "not in the context" : "",
      cancelled ? "cancelled" : "",
      exitCode === undefined || exitCode === 0 ? "" : `exit code ${exitCode}`,
      message["truncated"] === true ? "output truncated" : ""
    ),
    failed: cancelled || (exitCode !== undefined && exitCode !== 0),
    parts: [
      text("user", `${hidden ? "!!" : "!"}${plain(message["command"])}`),
      ...output(message["output"]),
      ...data("fullOutputPath", message["fullOutputPath"])
    ]
  }
}

const system = (message: JsonObject): Description => {
  const sections = objectAt(message, "sections") ?? {}
  const toolsText = (value: Json | undefined, what: string): string =>
    isArray(value) && value.length > 0 ? `${counted(value.length, "tool")} ${what}` : ""
  return {
    kind: "system",
    depth: "full",
    about: some(toolsText(message["toolsAdded"], "added"), toolsText(message["toolsRemoved"], "removed")),
    parts: [
      ...partsOf(message["content"], "full"),
      ...Object.entries(sections).map(([name, value]) =>
        text("full", typeof value === "string" ? `[${name}]\n${value}` : `[${name}] taken away`)
      ),
      ...data("toolsAdded", message["toolsAdded"]),
      ...data("toolsRemoved", message["toolsRemoved"])
    ]
  }
}

const customMessage = (payload: JsonObject): Description => {
  const hidden = payload["display"] === false
  const depth = hidden ? "full" : "user"
  return {
    kind: "custom_message",
    depth,
    about: some(plain(payload["customType"]), hidden ? "not displayed" : ""),
    parts: [...partsOf(payload["content"], depth), ...data("details", payload["details"])]
  }
}

const compaction = (payload: JsonObject): Description => {
  const before = numberAt(payload, "tokensBefore")
  const kept = stringAt(payload, "firstKeptEntryId")
  return {
    kind: "compaction",
    depth: "session",
    about: some(
      before === undefined ? "" : `${numberText(before)} tokens before`,
      kept === undefined || kept === stringAt(payload, "id") ? "nothing kept" : `kept from ${kept}`
    ),
    parts: [
      ...texts("session", payload["summary"]),
      ...data("details", payload["details"]),
      ...data("systemMessage", payload["systemMessage"])
    ]
  }
}

const label = (payload: JsonObject): Description => {
  const set = stringAt(payload, "label") ?? ""
  const on = plain(payload["targetId"])
  const about = set === "" ? `taken off ${on}` : `"${set}" on ${on}`
  return { kind: "label", depth: "session", about, parts: [] }
}

const contextEdit = (payload: JsonObject): Description => {
  const { replacement } = payload
  const on = plain(payload["targetId"])
  return {
    kind: "context_edit",
    depth: "assistant",
    about: replacement === null ? `takes ${on} out of the context` : `replaces the content of ${on} in the context`,
    parts: isObject(replacement) ? partsOf(replacement["content"], "assistant") : []
  }
}

const unknown = (about: string, payload: JsonObject): Description => ({
  kind: "unknown",
  depth: "full",
  about,
  parts: data("payload", payload)
})

const texts = (depth: Depth, value: Json | undefined): ReadonlyArray<TimelinePart> =>
  value === undefined || value === null || value === "" ? [] : [text(depth, plain(value))]

/** Text as it is; any other value as JSON. */
const plain = (value: Json | undefined): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : shownJson(value)

const some = (...words: ReadonlyArray<string>): string => words.filter((word) => word !== "").join(", ")

const named = (word: string, payload: JsonObject, key: string): string => {
  const value = plain(payload[key])
  return value === "" ? "" : `${word} ${value}`
}

const modelOf = (payload: JsonObject, key: string): string =>
  [plain(payload["provider"]), plain(payload[key])].filter((word) => word !== "").join("/")

const tokens = (payload: JsonObject): string => {
  const total = numberAt(objectAt(payload, "usage") ?? {}, "totalTokens")
  return total === undefined || total === 0 ? "" : `${numberText(total)} tokens`
}
