/** Writes a scripted reply as the server-sent events of an OpenAI-compatible server. */
import type { ScriptedMessage, ScriptedUsage } from "../ScriptedReply.ts"

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

const usageOf = (usage: ScriptedUsage) => {
  const input = usage.input ?? 10
  const output = usage.output ?? 5
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 }
  }
}

/** Cuts a text in two, never inside a character. */
const halves = (text: string): readonly [string, string] => {
  const characters = Array.from(text)
  const middle = Math.ceil(characters.length / 2)
  return [characters.slice(0, middle).join(""), characters.slice(middle).join("")]
}

/** The server-sent events of a message: those before the pause, which may come to nothing, and those after it. */
export const events = (
  message: ScriptedMessage,
  request: { readonly model: string; readonly index: number }
): { readonly beforePause: string; readonly afterPause: string } => {
  const chunk = (rest: object): string =>
    event({
      id: `chatcmpl-${request.index}`,
      object: "chat.completion.chunk",
      created: 0,
      model: request.model,
      ...rest
    })
  const delta = (delta: object, finishReason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta, finish_reason: finishReason }] })

  const calls = (message.toolCalls ?? []).map((call, position) => {
    const json = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments)
    const id = call.id ?? `call_${request.index}_${position}`
    const start = { index: position, id, type: "function", function: { name: call.name, arguments: "" } }
    const pieces = halves(json).map((piece) => ({ index: position, function: { arguments: piece } }))
    return [start, ...pieces].map((piece) => delta({ tool_calls: [piece] })).join("")
  })
  const [firstHalf, secondHalf] = halves(message.text ?? "")
  const thinking = message.thinking === undefined ? [] : halves(message.thinking)
  return {
    beforePause: [
      delta({ role: "assistant" }),
      ...thinking.filter((piece) => piece !== "").map((piece) => delta({ reasoning_content: piece })),
      ...(firstHalf === "" ? [] : [delta({ content: firstHalf })])
    ].join(""),
    afterPause: [
      ...(secondHalf === "" ? [] : [delta({ content: secondHalf })]),
      ...calls,
      delta({}, message.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop")),
      chunk({ choices: [], usage: usageOf(message.usage ?? {}) }),
      "data: [DONE]\n\n"
    ].join("")
  }
}
