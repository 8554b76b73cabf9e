/** The entry cache of a session; draws again when entries arrive. */
import { useEffect, useMemo, useReducer } from "preact/hooks"
import { usePage } from "../Page.tsx"
import { EntryCache } from "./EntryCache.ts"

export const useEntries = (key: string): EntryCache => {
  const { answers } = usePage()
  const [, redraw] = useReducer((version: number) => version + 1, 0)
  const cache = useMemo(() => new EntryCache(answers, key, () => redraw(undefined)), [answers, key])
  useEffect(() => () => cache.want([]), [cache])
  return cache
}
