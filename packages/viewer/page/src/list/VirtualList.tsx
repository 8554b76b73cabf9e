/** A list of any length: only rows near the visible ones are in the document. Rows are measured when they are drawn. */
import { type ComponentChildren, type JSX, type Ref } from "preact"
import { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { ScrollBox, type Sight } from "./ScrollBox.ts"
import { useRowObserver } from "./useRowObserver.ts"

/** Distance from the visible rows up to which rows are drawn. */
const BEYOND_PIXELS = 600

export interface ListHandle {
  /** Scrolls a row to the top; `near` scrolls only as far as necessary. Default: `top`. */
  readonly show: (row: number, where?: "top" | "near") => void
  readonly focus: () => void
}

interface Props {
  readonly count: number
  /** Height of a row before it is measured, in pixels. */
  readonly guess: number
  readonly children: (row: number) => ComponentChildren
  /** Called with the rows that are drawn. */
  readonly onSight?: (first: number, last: number) => void
  readonly label: string
  readonly role: "feed" | "tree" | "list"
  readonly handle?: Ref<ListHandle>
  readonly class?: string
  readonly activeId?: string | undefined
  readonly onKeyDown?: (event: KeyboardEvent) => void
  /** The row at the top of a new list. Default: 0. */
  readonly first?: number
}

/** The rows to draw, from `from` to `to`; `to` is -1 in an empty list. */
const drawnRows = ({ heights, scale }: ScrollBox, sight: Sight): { readonly from: number; readonly to: number } => {
  const top = sight.top * scale
  return {
    from: heights.at(Math.max(0, top - BEYOND_PIXELS)),
    to: heights.count === 0 ? -1 : heights.at(top + sight.height + BEYOND_PIXELS)
  }
}

/** Draws again when the box scrolls or changes its size. */
const useScrollBox = ({ count, first = 0, guess, handle }: Props) => {
  const element = useRef<HTMLDivElement>(null)
  const box = useMemo(() => new ScrollBox(element, count, guess), [count, guess])
  const [sight, setSight] = useState<Sight>({ top: 0, height: 800 })
  const look = (): void => {
    const now = box.sight
    if (now !== undefined) setSight(now)
  }
  useImperativeHandle(
    handle ?? null,
    () => ({
      focus: () => box.focus(),
      show: (row, where = "top") => {
        box.show(row, where)
        look()
      }
    }),
    [box]
  )
  useLayoutEffect(() => {
    if (first > 0) box.hold({ row: first, edge: "top" })
    look()
  }, [box])
  // After each draw, because a browser cannot scroll beyond the present height of the list.
  useLayoutEffect(() => {
    if (box.settle()) look()
  })
  useEffect(() => {
    if (element.current === null) return
    const resized = new ResizeObserver(look)
    resized.observe(element.current)
    return () => resized.disconnect()
  }, [box])
  return { element, box, sight, look }
}

export const VirtualList = (props: Props): JSX.Element => {
  const { children, count, label, onSight, role } = props
  const { box, element, look, sight } = useScrollBox(props)
  const rowRef = useRowObserver(box, look)
  const { heights, scale } = box
  const { from, to } = drawnRows(box, sight)
  useEffect(() => {
    if (count > 0) onSight?.(from, to)
  }, [from, to, count, onSight])
  /** In scaled lists, rows are placed relative to the visible ones. */
  const offsetOf = (row: number): number => sight.top + (heights.before(row) - sight.top * scale)
  return (
    <div
      ref={element}
      class={`scroll ${props.class ?? ""}`}
      role={role}
      aria-label={label}
      aria-activedescendant={props.activeId}
      {...(role === "feed" ? { "aria-busy": false } : {})}
      tabIndex={0}
      onScroll={look}
      onWheel={() => box.release()}
      onPointerDown={() => box.release()}
      onKeyDown={(event) => {
        box.release()
        props.onKeyDown?.(event)
      }}
    >
      <div class="rows" role="presentation" style={{ height: `${heights.total / scale}px` }}>
        {Array.from({ length: to - from + 1 }, (_, at) => from + at).map((row) => (
          <div key={row} class="row" style={{ transform: `translateY(${offsetOf(row)}px)` }} ref={rowRef(row)}>
            {children(row)}
          </div>
        ))}
      </div>
    </div>
  )
}
