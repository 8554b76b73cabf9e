/**
 * Converts samples, and requests of Pi's OpenAI-completions layer, to one form for comparison. It allows for exactly the
 * changes of this layer in the table of docs/samples.md, which ProviderLayers.test.ts checks.
 */
import type * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import type * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { type Turn } from "../../src/Turn.ts"
import { IMAGE } from "../../src/SessionImages.ts"

export interface PlainMessage {
  readonly role: string
  readonly text: string
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: unknown }>
  readonly answers: string
}

const partsOf = ({ content }: ScriptedModel.ChatMessage): string =>
  typeof content === "string"
    ? content
    : (content ?? []).map((part) => (part.type === "image_url" ? IMAGE : (part.text ?? ""))).join("\n")

/** A message of a request. */
export const recorded = (message: ScriptedModel.ChatMessage): PlainMessage => ({
  role: message.role,
  text: partsOf(message),
  calls: (message.tool_calls ?? []).map(({ function: { arguments: args, name }, id }) => ({
    id,
    name,
    arguments: JSON.parse(args)
  })),
  answers: message.tool_call_id ?? ""
})

/** The messages of a request without its system prompt. */
export const conversation = (
  version: PiVersion.PiVersion,
  messages: ReadonlyArray<ScriptedModel.ChatMessage>
): ReadonlyArray<PlainMessage> =>
  messages.flatMap((message) => {
    if (message.role === "system" || message.role === "developer") return []
    const plain = recorded(message)
    return [plain.role === "user" ? { ...plain, text: userText(version, plain.text) } : plain]
  })

/** 1.5 drops empty text blocks of user messages, and a turn does not show where its blocks end. */
const userText = (version: PiVersion.PiVersion, text: string): string =>
  version === "0.78" ? text : text.replaceAll(/^\n+|\n+$/gu, "").replaceAll(/\n+/gu, "\n")

/** The turns before a target as the layer sends them to the target's model. */
export const sent = (
  version: PiVersion.PiVersion,
  turns: ReadonlyArray<Turn>,
  target: Turn | undefined
): ReadonlyArray<PlainMessage> => {
  const ids = new Map<string, string>()
  return turns.flatMap((turn): ReadonlyArray<PlainMessage> => {
    if (turn.role === "system") return []
    if (turn.role === "assistant") {
      if (!isOfModel(turn, target)) for (const { id } of turn.tool_calls) ids.set(id, foreignId(version, id))
      const calls = turn.tool_calls.map((call) => ({ ...call, id: ids.get(call.id) ?? call.id }))
      const text = turn.content.trim() === "" ? "" : turn.content
      return [{ role: "assistant", text, calls, answers: "" }]
    }
    const results = turn.tool_results.map(({ content, images = [], tool_call_id }) => {
      const text = resultText(version, content, images.length > 0)
      return { role: "tool", text, calls: [], answers: ids.get(tool_call_id) ?? tool_call_id }
    })
    const images = turn.tool_results.flatMap((result) => result.images ?? []).map(() => IMAGE)
    const attached = images.length === 0 ? [] : [["Attached image(s) from tool result:", ...images].join("\n")]
    const texts = turn.content === "" ? attached : [...attached, turn.content]
    return [
      ...results,
      ...texts.map((text) => ({ role: "user", text: userText(version, text), calls: [], answers: "" }))
    ]
  })
}

const isOfModel = (turn: Turn, target: Turn | undefined): boolean =>
  turn.metadata.provider === target?.metadata.provider &&
  turn.metadata.api === target?.metadata.api &&
  turn.metadata.model === target?.metadata.model

/** The id that the layer sends to another model, for ids that are not too long. */
const foreignId = (version: PiVersion.PiVersion, id: string): string => {
  if (!id.includes("|")) return id
  const [callId = "", itemId = ""] = id.split("|").map((part) => part.replace(/[^a-zA-Z0-9_-]/gu, "_"))
  return version === "0.78" || itemId === "" ? callId : `${callId}_${itemId}`
}

const resultText = (version: PiVersion.PiVersion, content: string, hasImages: boolean): string => {
  const text = content
    .split("\n")
    .filter((line) => line !== IMAGE)
    .join("\n")
  if (version === "0.78") return text === "" ? "(see attached image)" : text
  return text.trim() !== "" ? text : hasImages ? "(see attached image)" : "(no tool output)"
}
