/**
 * The scrolled element of a virtual list. Rows above the visible ones can turn out to be higher than guessed; the box then
 * scrolls, so that the visible rows stay in place.
 *
 * Browsers limit elements to about 30 million pixels. Longer lists are drawn at `MOST_PIXELS`, and one pixel of scrolling
 * moves several pixels of rows (`scale`).
 */
import { type RefObject } from "preact"
import { Heights } from "./Heights.ts"

const MOST_PIXELS = 15_000_000

/** What is visible: offset and height in the element's pixels. */
export interface Sight {
  readonly top: number
  readonly height: number
}

/** A row to keep at an edge while heights around it are measured. */
interface Held {
  readonly row: number
  readonly edge: "top" | "bottom"
}

export class ScrollBox {
  readonly heights: Heights
  readonly #element: RefObject<HTMLElement | null>
  #held: Held | undefined
  /** Growth of rows above the visible ones since the list was drawn. */
  #shift = 0

  constructor(element: RefObject<HTMLElement | null>, count: number, guess: number) {
    this.#element = element
    this.heights = new Heights(count, guess)
  }

  /** Pixels of rows per pixel of scrolling. */
  get scale(): number {
    return Math.max(1, this.heights.total / MOST_PIXELS)
  }

  get sight(): Sight | undefined {
    const element = this.#element.current
    return element === null ? undefined : { top: element.scrollTop, height: element.clientHeight }
  }

  focus(): void {
    this.#element.current?.focus()
  }

  /** Scrolls a row to the top; `near` scrolls only if the row is not visible, and to the nearest edge. */
  show(row: number, where: "top" | "near"): void {
    const element = this.#element.current
    if (element === null || row < 0 || row >= this.heights.count) return
    const top = element.scrollTop * this.scale
    const bottom = top + element.clientHeight
    const begins = this.heights.before(row)
    const ends = begins + this.heights.of(row)
    if (where === "near" && begins >= top && ends <= bottom) return
    const isBelow = where === "near" && ends > bottom && this.heights.of(row) < element.clientHeight
    this.hold({ row, edge: isBelow ? "bottom" : "top" })
  }

  /** Keeps a row at an edge until `release`. */
  hold(held: Held): void {
    this.#held = held
    this.#place(held)
  }

  /** Call when the user scrolls. */
  release(): void {
    this.#held = undefined
  }

  /** Call after the list has its new height; returns whether the box scrolled. */
  settle(): boolean {
    const element = this.#element.current
    if (element === null) return false
    const before = element.scrollTop
    if (this.#held !== undefined) this.#place(this.#held)
    else if (this.#shift !== 0) element.scrollTop = before + this.#shift / this.scale
    this.#shift = 0
    return element.scrollTop !== before
  }

  /** Takes measured heights; returns whether any has changed. */
  measure(measured: Iterable<readonly [row: number, height: number]>): boolean {
    const element = this.#element.current
    if (element === null) return false
    const top = element.scrollTop * this.scale
    let isChanged = false
    for (const [row, height] of measured) {
      const isAbove = this.heights.before(row) + this.heights.of(row) <= top + 1
      const grown = this.heights.set(row, height)
      if (grown !== 0) isChanged = true
      if (isAbove) this.#shift += grown
    }
    return isChanged
  }

  #place({ edge, row }: Held): void {
    const element = this.#element.current
    if (element === null) return
    const begins = this.heights.before(row)
    const top = edge === "top" ? begins : begins + this.heights.of(row) - element.clientHeight
    element.scrollTop = top / this.scale
  }
}
