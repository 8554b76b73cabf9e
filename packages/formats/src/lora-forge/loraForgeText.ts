/**
 * lora-forge's text form: calls and results as XML in the text of a message, results cut to 2,000 characters (head and
 * tail kept), noise lines removed.
 *
 * In text that looks like one of these marks, `<` is written as `&lt;` (in the JSON of a call as `\u003c`, which is
 * equivalent).
 */
import { type DropTally } from "@pi-sessions/samples/DropCounts"
import { type ToolCall, type ToolResult } from "@pi-sessions/samples/Turn"

const RESULT_CHARS = 2000
const HEAD_CHARS = 1200
const TAIL_CHARS = 780
const CUT = "\n... [truncated] ...\n"
/** Maximum length of a written result, in characters. */
export const RESULT_CHARS_MAX = HEAD_CHARS + CUT.length + TAIL_CHARS

const NOISE = /^(?:Shell cwd was reset to|WARNING: This binary was built with)/u

const MARK = /<(?=\/?(?:tool_call|tool_result|context)\b)/gu

/** The text, with all marks escaped. */
export const plain = (text: string, dropped: DropTally): string => {
  let marks = 0
  const escaped = text.replaceAll(MARK, () => {
    marks++
    return "&lt;"
  })
  dropped.add("escaped_mark", marks)
  return escaped
}

const attribute = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll("\n", "&#10;")

/** Claude Code's `mcp__server__tool` and oh-my-pi's `mcp_server_tool`. */
const MCP_NAME = /^mcp(?:__(.+?)__|_([^_]+)_)./u

/** The MCP server of a tool, derived from its name; undefined if it is not an MCP tool. */
export const mcpServerOf = (name: string): string | undefined => {
  const [, server, shortServer] = MCP_NAME.exec(name) ?? []
  return server ?? shortServer
}

export const callText = ({ arguments: args, name }: ToolCall): string => {
  const source = mcpServerOf(name) === undefined ? "standard" : "mcp"
  const json = JSON.stringify(args).replaceAll(MARK, "\\u003c")
  return `<tool_call name="${attribute(name)}" source="${source}">\n${json}\n</tool_call>`
}

/** Removes half a surrogate pair at either end. */
const whole = (text: string): string => text.replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "")

export const resultText = ({ content, tool_call_id }: ToolResult, dropped: DropTally): string => {
  const lines = content.split("\n")
  const kept = lines.filter((line) => !NOISE.test(line))
  dropped.add("noise_line", lines.length - kept.length)
  const text = plain(kept.join("\n").trim(), dropped)
  const isLong = text.length > RESULT_CHARS
  if (isLong) dropped.add("cut_tool_result")
  const shown = isLong ? `${whole(text.slice(0, HEAD_CHARS))}${CUT}${whole(text.slice(-TAIL_CHARS))}` : text
  return `<tool_result tool_use_id="${attribute(tool_call_id)}">\n${shown}\n</tool_result>`
}

const CALL = /<tool_call name="[^"\n]*" source="(?:standard|mcp)">\n([^\n]*)\n<\/tool_call>/gu
const RESULT_OPEN = /<tool_result tool_use_id="[^"\n]+">\n/gu
const RESULT_CLOSE = "\n</tool_result>"

const opened = (text: string, mark: string): number => text.split(`<${mark} `).length - 1

/** The JSON of the calls in a message; undefined if a mark is unpaired. */
export const callsIn = (text: string): ReadonlyArray<string> | undefined => {
  const calls = [...text.matchAll(CALL)].map(([, json = ""]) => json)
  return calls.length === opened(text, "tool_call") ? calls : undefined
}

/** The results in a message; undefined if a mark is unpaired. */
export const resultsIn = (text: string): ReadonlyArray<string> | undefined => {
  const results: Array<string> = []
  let end = 0
  for (const { 0: mark, index } of text.matchAll(RESULT_OPEN)) {
    if (index < end) continue
    const start = index + mark.length
    const close = text.indexOf(RESULT_CLOSE, start)
    // No later result has an end either. A single regular expression would search to the end of the text for each.
    if (close < 0) break
    results.push(text.slice(start, close))
    end = close + RESULT_CLOSE.length
  }
  return results.length === opened(text, "tool_result") ? results : undefined
}
