/** Text of generated sessions, and the distribution of its lengths. */
import type * as SeededRandom from "../../SeededRandom.ts"

// Quantiles of the length of a line, as multiples of a common measure; linear between. Arithmetic alone, since
// `Math.exp` may differ from machine to machine.
const quantiles = [
  [0, 0.1],
  [0.1, 0.2],
  [0.5, 0.55],
  [0.75, 1.1],
  [0.9, 2.2],
  [0.97, 5],
  [0.99, 9],
  [1, 30]
] as const

const segments = quantiles.slice(1).map(([to, high], index) => {
  const [from, low] = quantiles[index] ?? quantiles[0]
  return { from, to, low, high }
})

const meanQuantile = segments.reduce((sum, { from, to, low, high }) => sum + ((to - from) * (low + high)) / 2, 0)

/** A multiple of the mean: 1 on average, half as much in most cases, now and then 25 times as much. */
export const spread = (random: SeededRandom.SeededRandom): number => {
  const at = random.next()
  const segment = segments.find(({ to }) => at < to)
  if (segment === undefined) return 1
  const { from, to, low, high } = segment
  return (low + ((at - from) / (to - from)) * (high - low)) / meanQuantile
}

const words = [
  "const value = yield* Effect.succeed(1)\n",
  "  return entries.filter((entry) => entry.id !== id)\n",
  "the session file ",
  "reads the header and ",
  'throws "not found" when ',
  "packages/core/src/Session.ts:42: ",
  "für größere Dateien ",
  "→ 3 passed, 0 failed\n",
  "\tat async run (node:internal)\n",
  "C:\\Users\\pi ",
  "日本語 ",
  "and then "
] as const

/**
 * Text to cut pieces from, each about so many bytes long in JSON. No character takes two code units, so that any cut is
 * whole.
 */
export const makePool = (random: SeededRandom.SeededRandom): ((bytes: number) => string) => {
  const text = Array.from({ length: 8000 }, () => random.pick(words)).join("")
  const bytesPerCharacter = Buffer.byteLength(JSON.stringify(text)) / text.length
  return (bytes) => {
    const length = Math.max(1, Math.floor(bytes / bytesPerCharacter))
    const from = random.int(text.length)
    if (from + length <= text.length) return text.slice(from, from + length)
    return text.slice(from) + text.repeat(Math.floor(length / text.length)) + text.slice(0, length % text.length)
  }
}
