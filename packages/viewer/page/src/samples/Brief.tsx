/** The beginning of a text of an entry or a turn. */
import { type ComponentChildren, type JSX } from "preact"
import { Text } from "../parts/Text.tsx"

/** Length of the beginning, in UTF-16 units. */
const SHOWN = 1200

/** `kind` is the kind of part, for the style. Children come before the text. */
export const Brief = (props: {
  readonly text: string
  readonly kind?: string
  readonly children?: ComponentChildren
}): JSX.Element => {
  const { children, kind = "", text } = props
  return (
    <div class={`text brief ${kind}`}>
      {children}
      <Text value={text.length > SHOWN ? `${text.slice(0, SHOWN)} …` : text} />
    </div>
  )
}
