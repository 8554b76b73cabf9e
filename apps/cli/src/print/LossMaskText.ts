/** A rendered conversation with its loss mask: trained text is green, or in brackets without colours. */
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type ShownSample } from "@pi-sessions/formats/model/ModelCheck"
import { type Layout, paint } from "./ResultPrinter.ts"

const OPEN = "⟦"
const CLOSE = "⟧"

const painted = (layout: Layout, text: string, isLearnt: boolean): string =>
  text
    .split("\n")
    .map((line) => paint(layout, isLearnt ? "green" : "dim", line))
    .join("\n")

/** The lines of the text, with each trained part marked. */
export const lines = (layout: Layout, { learnt, text }: ShownSample): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let at = 0
  const add = (end: number, isLearnt: boolean): void => {
    const part = TerminalText.harmless(text.slice(at, end))
    at = end
    if (layout.colours) parts.push(painted(layout, part, isLearnt))
    else parts.push(isLearnt ? OPEN + part + CLOSE : part)
  }
  for (const { end, start } of learnt) {
    add(start, false)
    add(end, true)
  }
  add(text.length, false)
  return parts.join("").split("\n")
}
