/** Accept and reject, for a session or an entry of one. */
import { type JSX } from "preact"
import { usePage } from "../Page.tsx"

export const MarkButtons = (props: {
  readonly session: string
  readonly entry?: string
  readonly what: string
}): JSX.Element | null => {
  const { mark, marks } = usePage()
  const { entry, session, what } = props
  const now = marks[entry === undefined ? session : `${session}/${entry}`]
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
