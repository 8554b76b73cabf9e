/** Buttons to accept and reject a session, or an entry of it. */
import { type JSX } from "preact"
import { markKey } from "../../../src/MarkKey.ts"
import { usePage } from "../Page.tsx"

export const MarkButtons = (props: {
  readonly session: string
  readonly entry?: string
  readonly what: string
}): JSX.Element | null => {
  const { mark, marks } = usePage()
  const { entry, session, what } = props
  const now = marks[markKey(session, entry)]
  if (mark === undefined) return null
  const button = (wanted: "accept" | "reject", sign: string): JSX.Element => (
    <button
      type="button"
      class={`mark ${wanted}`}
      aria-pressed={now === wanted}
      aria-label={`${wanted} ${what}`}
      title={wanted}
      onClick={(event) => {
        event.stopPropagation()
        mark(session, entry, wanted)
      }}
    >
      {sign}
    </button>
  )
  return (
    <span class="marks">
      {button("accept", "✓")}
      {button("reject", "✗")}
    </span>
  )
}
