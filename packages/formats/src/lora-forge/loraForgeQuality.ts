/** lora-forge's quality filter: whether a window holds enough, and a score of how much. */

/** A turn as text. */
export interface WrittenTurn {
  readonly role: "user" | "assistant"
  readonly text: string
  readonly calls: number
}

const TURNS_MIN = 2
const SUBSTANTIVE_MIN = 2
const CHARS_MIN = 200

/** First lines without content, compared in lower case. */
const BOILERPLATE = [
  /^mayor,? checking in\.?$/iu,
  /^let me check.*(?:hook|mail)/iu,
  /^nothing on hook/iu,
  /^no .* messages/iu
]

const isSubstantive = ({ role, text }: WrittenTurn): boolean => {
  const content = text.trim()
  if (role === "user" && content.startsWith("<tool_result")) return false
  const [firstLine = ""] = content.split("\n", 1)
  return !BOILERPLATE.some((pattern) => pattern.test(firstLine.trim()))
}

/** Characters as Python counts them: a surrogate pair is one. */
const lengthOf = (text: string): number => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)

/** A score from 0 to 1; undefined if the window has too little content. */
export const scoreOf = (turns: ReadonlyArray<WrittenTurn>): number | undefined => {
  const substantive = turns.filter(isSubstantive).length
  const chars = turns.reduce((sum, { text }) => sum + lengthOf(text.trim()), 0)
  const calls = turns.reduce((sum, turn) => sum + turn.calls, 0)
  if (turns.length < TURNS_MIN || substantive < SUBSTANTIVE_MIN || chars < CHARS_MIN) return undefined
  const score =
    0.3 * (substantive / turns.length) +
    0.3 * Math.min(calls / 10, 1) +
    0.2 * Math.min(chars / turns.length / 500, 1) +
    0.2 * Math.min(turns.length / 20, 1)
  return Math.round(score * 1000) / 1000
}
