/** A link to a place of the page; never to an address from a session. */
import { type JSX } from "preact"
import * as Address from "../Address.ts"
import { usePage } from "../Page.tsx"

export const Link = (props: {
  readonly to: Address.Place
  readonly isHere?: boolean
  readonly class?: string
  readonly children: JSX.Element | string
}): JSX.Element => {
  const { go } = usePage()
  const { children, isHere = false, to } = props
  return (
    <a
      href={Address.format(to)}
      class={props.class}
      {...(isHere ? { "aria-current": "page" } : {})}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        go(to)
      }}
    >
      {children}
    </a>
  )
}
