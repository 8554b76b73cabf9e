/** Long texts and lists: the beginning, and buttons that show more. */
import { type ComponentChildren, type JSX } from "preact"
import { useState } from "preact/hooks"
import { counted, numberText } from "@pi-sessions/report/Counted"
import { Text } from "./Text.tsx"

/** UTF-16 units shown at first, and added by each click. */
const TEXT = 20_000
/** Items of a list shown at first, and added by each click. */
export const LISTED = 200

export const LongText = (props: {
  readonly value: string
  /** Default: `Text`. */
  readonly draw?: (value: string) => JSX.Element
}): JSX.Element => {
  const { draw = (value) => <Text value={value} />, value } = props
  const [most, setMost] = useState(TEXT)
  const left = value.length - most
  return (
    <>
      {draw(value.slice(0, most))}
      {left > 0 && (
        <button type="button" class="more" onClick={() => setMost(most + TEXT)}>
          {numberText(left)} more characters
        </button>
      )}
    </>
  )
}

export const LongList = <A,>(props: {
  readonly items: ReadonlyArray<A>
  /** The name of an item. */
  readonly what: string
  readonly children: (item: A, at: number) => ComponentChildren
}): JSX.Element => {
  const { children, items, what } = props
  const [most, setMost] = useState(LISTED)
  return (
    <>
      {items.slice(0, most).map(children)}
      {items.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + LISTED)}>
          {counted(items.length - most, `more ${what}`)}
        </button>
      )}
    </>
  )
}
