/**
 * A list of any length: only rows that can be seen are in the document. Rows are measured when they are shown, and what is
 * looked at stays in its place when rows above it turn out to be higher than was guessed.
 *
 * A browser draws no more than some thirty million pixels: a longer list is scrolled in larger steps.
 */
import { type ComponentChildren, type JSX } from "preact"
import { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { type Ref } from "preact"
import { Heights } from "./Heights.ts"

const MOST_PIXELS = 15_000_000
/** Rows beyond the edges are ready before they come into sight. */
const BEYOND_PIXELS = 600

export interface ListHandle {
  /** Brings a row into sight: to the top, or no further than it must. */
  readonly show: (row: number, where?: "top" | "near") => void
  readonly focus: () => void
}

interface Held {
  readonly row: number
  readonly edge: "top" | "bottom"
}

interface Props {
  readonly count: number
  /** Of a row that was not measured yet. */
  readonly guess: number
  readonly children: (row: number) => ComponentChildren
  /** Which rows are in sight, and some beyond them. */
  readonly onSight?: (first: number, last: number) => void
  readonly label: string
  readonly role: "feed" | "tree" | "list"
  readonly handle?: Ref<ListHandle>
  readonly class?: string
  readonly activeId?: string | undefined
  readonly onKeyDown?: (event: KeyboardEvent) => void
  /** The row that stands at the top when the list is made. */
  readonly first?: number
}

export const VirtualList = (props: Props): JSX.Element => {
  const { children, count, first = 0, guess, handle, label, onSight, role } = props
  const box = useRef<HTMLDivElement>(null)
  const heights = useMemo(() => new Heights(count, guess), [count, guess])
  const [sight, setSight] = useState({ top: 0, height: 800 })
  const rows = useRef(new Map<Element, number>())
  /** A row that is to stay at an edge until somebody scrolls: heights around it are guesses still. */
  const held = useRef<Held | undefined>(undefined)
  /** By how much rows above those in sight have grown since the list was drawn. */
  const shift = useRef(0)

  const scale = Math.max(1, heights.total / MOST_PIXELS)
  const look = (): void => {
    const element = box.current
    if (element !== null) setSight({ top: element.scrollTop, height: element.clientHeight })
  }

  const place = ({ edge, row }: Held): void => {
    const element = box.current
    if (element === null) return
    const begins = heights.before(row)
    const top = edge === "top" ? begins : begins + heights.of(row) - element.clientHeight
    element.scrollTop = top / Math.max(1, heights.total / MOST_PIXELS)
  }

  useImperativeHandle(
    handle ?? null,
    () => ({
      focus: () => box.current?.focus(),
      show: (row, where = "top") => {
        const element = box.current
        if (element === null || row < 0 || row >= count) return
        const top = element.scrollTop * scale
        const begins = heights.before(row)
        const ends = begins + heights.of(row)
        if (where === "near" && begins >= top && ends <= top + element.clientHeight) return
        const isBelow = where === "near" && ends > top + element.clientHeight && heights.of(row) < element.clientHeight
        held.current = { row, edge: isBelow ? "bottom" : "top" }
        place(held.current)
        look()
      }
    }),
    [heights, scale, count]
  )

  useLayoutEffect(() => {
    held.current = first > 0 ? { row: first, edge: "top" } : undefined
    if (held.current !== undefined) place(held.current)
    look()
  }, [heights])

  // After the list has its new height: a browser scrolls no further than there is something.
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const before = element.scrollTop
    if (held.current !== undefined) place(held.current)
    else if (shift.current !== 0) element.scrollTop = before + shift.current / Math.max(1, heights.total / MOST_PIXELS)
    shift.current = 0
    if (element.scrollTop !== before) look()
  })

  // One observer for all rows: whatever changes a row's height moves what follows.
  const observer = useMemo(
    () =>
      new ResizeObserver((changes) => {
        const element = box.current
        if (element === null) return
        let moved = 0
        let isGrown = false
        const top = element.scrollTop * Math.max(1, heights.total / MOST_PIXELS)
        for (const { borderBoxSize, target } of changes) {
          const row = rows.current.get(target)
          const height = borderBoxSize[0]?.blockSize ?? 0
          if (row === undefined || height === 0) continue
          const isAbove = heights.before(row) + heights.of(row) <= top + 1
          const grown = heights.set(row, height)
          if (grown !== 0) isGrown = true
          if (isAbove) moved += grown
        }
        if (!isGrown) return
        shift.current += moved
        look()
      }),
    [heights]
  )
  useEffect(() => () => observer.disconnect(), [observer])
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const resized = new ResizeObserver(look)
    resized.observe(element)
    return () => resized.disconnect()
  }, [])

  const top = sight.top * scale
  const from = heights.at(Math.max(0, top - BEYOND_PIXELS))
  const to = count === 0 ? -1 : heights.at(top + sight.height + BEYOND_PIXELS)
  useEffect(() => {
    if (count > 0) onSight?.(from, to)
  }, [from, to, count, onSight])

  const shown: Array<JSX.Element> = []
  for (let row = from; row <= to; row++) {
    // Where rows stand closer together than they are, they are placed by what is in sight.
    const at = sight.top + (heights.before(row) - top)
    shown.push(
      <div
        key={row}
        class="row"
        style={{ transform: `translateY(${at}px)` }}
        ref={(element) => {
          if (element === null) return
          rows.current.set(element, row)
          observer.observe(element)
          return () => {
            rows.current.delete(element)
            observer.unobserve(element)
          }
        }}
      >
        {children(row)}
      </div>
    )
  }
  return (
    <div
      ref={box}
      class={`scroll ${props.class ?? ""}`}
      role={role}
      aria-label={label}
      aria-activedescendant={props.activeId}
      {...(role === "feed" ? { "aria-busy": false } : {})}
      tabIndex={0}
      onScroll={look}
      onWheel={() => (held.current = undefined)}
      onPointerDown={() => (held.current = undefined)}
      onKeyDown={(event) => {
        held.current = undefined
        props.onKeyDown?.(event)
      }}
    >
      <div class="rows" role="presentation" style={{ height: `${heights.total / scale}px` }}>
        {shown}
      </div>
    </div>
  )
}
