/** Readers of known cost. */
import { type TextReader } from "../../src/steps/StepGrowth.ts"

const loop = (text: string, outer: number): number => {
  let found = 0
  for (let at = 0; at < text.length; at += outer) {
    for (let end = at; end < text.length && text[end] !== ";"; end++) found++
  }
  return found
}

export const quadratic: ReadonlyArray<TextReader> = [
  { name: "trailing space", read: (text) => text.replace(/\s+$/u, "") },
  { name: "nested quantifiers", read: (text) => /^(?:a+)+$/u.test(text.slice(0, 24)) && /a+b/u.test(text) },
  { name: "key and value", read: (text) => /\w+\s*=\s*\w+;/u.test(text) },
  { name: "a loop in a loop", read: (text) => loop(text, 8) },
  { name: "a search from each character", read: (text) => [...text].map((_, at) => text.indexOf("~!~", at)) },
  {
    name: "the first of a queue",
    read: (text) => {
      const rest = [...text]
      while (rest.length > 0) rest.shift()
    }
  }
]

export const linear: ReadonlyArray<TextReader> = [
  { name: "one expression", read: (text) => text.match(/\w/gu) },
  { name: "JSON", read: (text) => JSON.stringify(text) },
  { name: "a loop of a tenth", read: (text) => loop(text.slice(0, 1), 1) + text.split("a").length },
  { name: "a window of 64", read: (text) => text.match(/\w{1,64}~!~/gu) }
]
