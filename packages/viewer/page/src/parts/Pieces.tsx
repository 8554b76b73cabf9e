/** What is larger than a browser draws in a moment: its beginning, and the rest piece by piece for who asks. */
import { type ComponentChildren, type JSX } from "preact"
import { useState } from "preact/hooks"
import { Text, counted } from "./Text.tsx"

/** UTF-16 units of a text that are drawn at once. */
const TEXT = 20_000
/** Of a list. */
export const LISTED = 200

export const LongText = (props: {
  readonly value: string
  /** `Text` unless told. */
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
          {left.toLocaleString("en-US")} more characters
        </button>
      )}
    </>
  )
}

export const LongList = <A,>(props: {
  readonly items: ReadonlyArray<A>
  /** What one of them is called. */
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
