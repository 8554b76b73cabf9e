/** The rows of a session's tree, fetched in pages. */
import { useEffect, useMemo, useReducer } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { usePage } from "../Page.tsx"
import { messageOf } from "../answers/messageOf.ts"

/** Rows of a page. */
const AT_ONCE = 100

export interface Tree {
  /** Number of rows; undefined until the first page is there. */
  readonly total: number | undefined
  /** The fetched rows by their place. */
  readonly rows: ReadonlyMap<number, ViewModel.TreeRow>
  readonly error: string | undefined
  /** Fetches the rows from `first` to `last`. */
  readonly want: (first: number, last: number) => void
}

/** Fetches nothing until `isReady`. */
export const useTree = (key: string, { all, filter }: ViewQuestion.TreeOptions, isReady: boolean): Tree => {
  const { answers } = usePage()
  const [, redraw] = useReducer((version: number) => version + 1, 0)
  const state = useMemo(() => {
    const rows = new Map<number, ViewModel.TreeRow>()
    return {
      total: undefined as number | undefined,
      rows,
      asked: new Set<number>(),
      error: undefined as string | undefined
    }
  }, [answers, key, filter, all])
  const ask = async (page: number): Promise<void> => {
    if (state.asked.has(page)) return
    state.asked.add(page)
    const from = page * AT_ONCE
    try {
      const { rows, total } = await answers.get(ViewQuestion.tree(key, { filter, all }, from, AT_ONCE))
      state.total = total
      for (const [at, row] of rows.entries()) state.rows.set(from + at, row)
    } catch (error) {
      state.error = messageOf(error)
    }
    redraw(undefined)
  }
  useEffect(() => {
    if (isReady) void ask(0)
  }, [state, isReady])
  return {
    ...state,
    want: (first, last) => {
      for (let page = Math.floor(first / AT_ONCE); page <= Math.floor(last / AT_ONCE); page++) void ask(page)
    }
  }
}
