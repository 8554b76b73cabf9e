/** Summaries of sessions, fetched when their rows come into sight. */
import { useRef, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { usePage } from "../Page.tsx"

type Summaries = ReadonlyMap<string, ViewModel.SessionSummary>

/** The summaries by key, and the function that asks for more. */
export const useSummaries = (): readonly [Summaries, (keys: ReadonlyArray<string>) => void] => {
  const { answers } = usePage()
  const [known, setKnown] = useState<Summaries>(new Map())
  const asked = useRef(new Set<string>())
  const ask = (keys: ReadonlyArray<string>): void => {
    const fresh = keys.filter((key) => !asked.current.has(key))
    if (fresh.length === 0) return
    for (const key of fresh) asked.current.add(key)
    answers.get(ViewQuestion.summaries(fresh)).then(
      (more) => setKnown((before) => new Map([...before, ...more.map((one) => [one.key, one] as const)])),
      () => fresh.forEach((key) => asked.current.delete(key))
    )
  }
  return [known, ask]
}
