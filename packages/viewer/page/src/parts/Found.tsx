/** The places that a search has found. */
import { type JSX } from "preact"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import * as Address from "../Address.ts"
import { usePage } from "../Page.tsx"
import { Loaded } from "../answers/Loaded.tsx"
import { messageOf } from "../answers/messageOf.ts"
import { Text, timeOf, words } from "./Text.tsx"

interface Props {
  readonly text: string
  /** Searches one session. Default: all. */
  readonly sessionKey?: string
  /** The name of a session by key. Default: no names. */
  readonly titleOf?: (key: string) => string
  /** Goes to an entry of the open session. Default: opens the session of the place. */
  readonly onGo?: (entry: number) => Promise<void>
  /** The button or link that closes the list. */
  readonly close: JSX.Element
}

export const Found = ({ close, onGo, sessionKey, text, titleOf }: Props): JSX.Element => (
  <section class="found" aria-label={`found: ${text}`}>
    <Loaded question={ViewQuestion.search(text, sessionKey)} what={`looking for ${text}`}>
      {({ hits, isWhole }) => (
        <>
          <p class="quiet">
            {counted(hits.length, "place")}
            {isWhole ? "" : " and more"} {close}
          </p>
          <ul>
            {hits.map((hit, at) => (
              <li key={at}>
                <HitButton hit={hit} title={titleOf?.(hit.key)} onGo={onGo} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  </section>
)

const HitButton = (props: {
  readonly hit: ViewModel.Hit
  readonly title: string | undefined
  readonly onGo: Props["onGo"]
}): JSX.Element => {
  const { answers, go, say } = usePage()
  const { hit, onGo, title } = props
  const open = async (): Promise<void> => {
    if (hit.entryId === null) return go(Address.session(hit.key))
    try {
      const at = await answers.get(ViewQuestion.find(hit.key, hit.entryId))
      if (onGo === undefined) go(Address.session(hit.key, { at }))
      else await onGo(at)
    } catch (error) {
      say(messageOf(error))
    }
  }
  return (
    <button type="button" class="hit" onClick={() => void open()}>
      <span class="quiet">
        {title !== undefined && <Text value={title} />} {words(hit.kind)} {timeOf(hit.time)}
      </span>
      <span>
        <Text value={hit.before} />
        <mark>
          <Text value={hit.found} />
        </mark>
        <Text value={hit.after} />
      </span>
    </button>
  )
}
