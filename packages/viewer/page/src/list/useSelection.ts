/** The selected row of a virtual list. */
import { type RefObject } from "preact"
import { useState } from "preact/hooks"
import { type ListHandle } from "./VirtualList.tsx"

export interface Selection {
  /** -1: no row. */
  readonly row: number
  /** Selects a row without scrolling. */
  readonly set: (row: number) => void
  /** Selects the nearest existing row, and scrolls to it; returns it. */
  readonly select: (row: number) => number
}

export const useSelection = (list: RefObject<ListHandle | null>, count: number, first: number): Selection => {
  const [row, set] = useState(first)
  const select = (wanted: number): number => {
    const next = Math.max(0, Math.min(count - 1, wanted))
    set(next)
    list.current?.show(next, "near")
    return next
  }
  return { row, set, select }
}
