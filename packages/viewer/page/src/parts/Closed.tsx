/** Content that is closed until it, or its entry, is opened. */
import { type ComponentChildren, type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { Terminal } from "./Terminal.tsx"
import { Text } from "./Text.tsx"

export const Closed = (props: {
  readonly name: string
  /** The beginning of the content. */
  readonly hint: string
  /** Whether the entry is open; a change overrides the own state. */
  readonly isOpen: boolean
  readonly isCall?: boolean
  readonly children: ComponentChildren
}): JSX.Element => {
  const { children, hint, isCall = false, isOpen, name } = props
  const [own, setOwn] = useState<boolean | undefined>(undefined)
  useEffect(() => setOwn(undefined), [isOpen])
  const isShown = own ?? isOpen
  return (
    <div class={`closed ${isCall ? "call" : ""}`}>
      <button type="button" class="opener" aria-expanded={isShown} onClick={() => setOwn(!isShown)}>
        <span aria-hidden="true">{isShown ? "▾" : "▸"}</span>{" "}
        <b>
          <Text value={name} />
        </b>{" "}
        <span class="hint">
          <Terminal value={hint.slice(0, 300)} />
        </span>
      </button>
      {isShown && <div class="inside">{children}</div>}
    </div>
  )
}
