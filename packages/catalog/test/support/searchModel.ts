/** A naive search, and random entries in every spelling of JSON. */
import type * as SeededRandom from "@pi-sessions/testing/SeededRandom"

type Random = SeededRandom.SeededRandom

/** A text that the naive search finds. */
export interface PlainText {
  readonly kind: string
  readonly text: string
}

/** A member of an object; undefined for other values. */
const at = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Reflect.get(value, key) : undefined

const members = (value: unknown): ReadonlyArray<unknown> =>
  typeof value === "object" && value !== null ? Object.values(value) : []

/** The texts of a parsed entry in a scope, written from docs/adr/004-discovery-and-search.md alone. */
export const plainTexts = (entry: unknown, scope: string): ReadonlyArray<PlainText> => {
  const found: Array<PlainText> = []
  const add = (needed: string, kind: string, text: unknown): void => {
    const order = ["prompts", "conversations", "all"]
    if (order.indexOf(needed) > order.indexOf(scope)) return
    if (typeof text === "string" && text !== "") found.push({ kind, text })
  }
  const addContent = (needed: string, kind: string, content: unknown): void => {
    if (!Array.isArray(content)) return add(needed, kind, content)
    for (const block of content) if (at(block, "type") === "text") add(needed, kind, at(block, "text"))
  }
  const addStrings = (value: unknown): void => {
    if (typeof value === "string") add("conversations", "tool_call", value)
    else for (const inner of members(value)) addStrings(inner)
  }
  const addBlocks = (blocks: ReadonlyArray<unknown>): void => {
    for (const block of blocks) {
      const type = at(block, "type")
      if (type === "text") add("conversations", "assistant", at(block, "text"))
      if (type === "thinking") add("conversations", "thinking", at(block, "thinking"))
      if (type !== "toolCall") continue
      add("conversations", "tool_call", at(block, "name"))
      addStrings(at(block, "arguments"))
    }
  }
  const type = at(entry, "type")
  if (type === "compaction") add("conversations", "compaction", at(entry, "summary"))
  if (type === "branch_summary") add("conversations", "branch_summary", at(entry, "summary"))
  if (type === "session_info") add("all", "session_name", at(entry, "name"))
  if (type === "custom_message") addContent("all", "custom_message", at(entry, "content"))
  if (type !== "message") return found
  const message = at(entry, "message")
  const content = at(message, "content")
  switch (at(message, "role")) {
    case "user":
      addContent("prompts", "prompt", content)
      break
    case "toolResult":
      addContent("conversations", "tool_result", content)
      break
    case "bashExecution":
      add("conversations", "bash", at(message, "command"))
      add("conversations", "bash", at(message, "output"))
      break
    case "custom":
    case "hookMessage":
      addContent("all", "custom_message", content)
      break
    case "system":
      addContent("all", "system", content)
      for (const section of members(at(message, "sections"))) add("all", "system", section)
      break
    case "assistant":
      if (Array.isArray(content)) addBlocks(content)
      else add("conversations", "assistant", content)
  }
  return found
}

const CHARACTERS = Array.from(
  'abkksSKKtT019 "\\/\n\r\t\b\f\0\u001b\u007féÉßẞſKİıiIÅ\u212bµμΜ日本😀😁\ufffd\u2028{}[]:,.'
).concat("\ud83d", "\ude00")

/** A text of few different characters, so that one contains another often. */
export const randomText = (random: Random, length: number): string => {
  const [from, to] = [random.int(CHARACTERS.length), random.int(CHARACTERS.length)]
  const few = random.chance(0.7) ? CHARACTERS.slice(Math.min(from, to), Math.max(from, to) + 1) : CHARACTERS
  return Array.from({ length }, () => few[random.int(few.length)] ?? "").join("")
}

/** JSON with random spellings. `calm`: the share of characters that are spelled as by `JSON.stringify`. */
export const spell = (random: Random, value: unknown, calm: number): string => {
  if (typeof value === "string") return spellString(random, value, calm)
  if (Array.isArray(value)) return `[${value.map((inner) => spell(random, inner, calm)).join(gap(random, ",", calm))}]`
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
    return `{${members
      .map(
        ([key, inner]) =>
          `${spellString(random, key, Math.max(calm, 0.97))}${gap(random, ":", calm)}${spell(random, inner, calm)}`
      )
      .join(gap(random, ",", calm))}}`
  }
  return JSON.stringify(value)
}

const gap = (random: Random, mark: string, calm: number): string => (random.chance(calm) ? mark : ` ${mark}\t`)

const spellString = (random: Random, text: string, calm: number): string => {
  let spelt = ""
  for (let unit = 0; unit < text.length; unit++) {
    const character = String.fromCodePoint(text.codePointAt(unit) ?? 0)
    if (random.chance(calm)) {
      spelt += JSON.stringify(character).slice(1, -1)
      unit += character.length - 1
    } else if (character === "/" && random.chance(0.5)) spelt += "\\/"
    else {
      const hex = text.charCodeAt(unit).toString(16).padStart(4, "0")
      spelt += `\\u${Array.from(hex, (digit) => (random.chance(0.5) ? digit.toUpperCase() : digit)).join("")}`
    }
  }
  return `"${spelt}"`
}

/** An entry of any type, some with odd values. */
export const randomEntry = (random: Random, id: string, text: () => string): object => {
  const blocks = (): unknown =>
    random.weighted<() => unknown>(
      [3, text],
      [6, () => Array.from({ length: random.int(3) }, () => ({ type: "text", text: text() }))],
      [1, () => [{ type: "image", data: text() }, null, text(), { type: "text", text: 1 }]],
      [1, () => null]
    )()
  const assistant = (): unknown => [
    { type: "thinking", thinking: text(), thinkingSignature: text() },
    { type: "text", text: text() },
    {
      type: "toolCall",
      id: text(),
      name: text(),
      arguments: { [text()]: text(), b: [text(), { c: text() }, 1], d: null }
    }
  ]
  const base = { id, parentId: null, timestamp: "2026-01-01T00:00:00.000Z" }
  const message = (role: string, content: unknown, more: object = {}): object => ({
    type: "message",
    ...base,
    message: { role, content, ...more, timestamp: 1 }
  })
  return random.weighted<() => object>(
    [8, () => message("user", blocks())],
    [5, () => message("assistant", random.chance(0.9) ? assistant() : text())],
    [5, () => message("toolResult", blocks(), { toolName: text(), details: { diff: text() } })],
    [1, () => message("bashExecution", undefined, { command: text(), output: text() })],
    [1, () => message("system", blocks(), { sections: { a: text(), b: null } })],
    [1, () => message(random.chance(0.5) ? "custom" : "hookMessage", blocks())],
    [1, () => message(text(), blocks())],
    [1, () => ({ ...base, type: "compaction", summary: text(), details: text() })],
    [1, () => ({ ...base, type: "branch_summary", summary: text() })],
    [1, () => ({ ...base, type: "session_info", name: text() })],
    [1, () => ({ ...base, type: "custom_message", customType: text(), content: blocks() })],
    [1, () => ({ ...base, type: random.chance(0.5) ? "custom" : "label", data: text(), label: text() })],
    [1, () => ({ ...base, type: "model_change", provider: text(), modelId: text() })],
    [1, () => ({ ...base, type: "message", message: [text()] })]
  )()
}
