/** Measures rows: one ResizeObserver for all rows of a list. */
import { useEffect, useMemo } from "preact/hooks"
import { type ScrollBox } from "./ScrollBox.ts"

/** Returns the ref of each row. Calls `changed` when a row of `box` has a new height. */
export const useRowObserver = (
  box: ScrollBox,
  changed: () => void
): ((row: number) => (element: HTMLElement | null) => (() => void) | undefined) => {
  const { observer, rows } = useMemo(() => {
    const rows = new Map<Element, number>()
    const observer = new ResizeObserver((changes) => {
      const measured = changes.flatMap(({ borderBoxSize, target }) => {
        const row = rows.get(target)
        const height = borderBoxSize[0]?.blockSize ?? 0
        return row === undefined || height === 0 ? [] : [[row, height] as const]
      })
      if (box.measure(measured)) changed()
    })
    return { observer, rows }
  }, [box])
  useEffect(() => () => observer.disconnect(), [observer])
  return (row) => (element) => {
    if (element === null) return undefined
    rows.set(element, row)
    observer.observe(element)
    return () => {
      rows.delete(element)
      observer.unobserve(element)
    }
  }
}
