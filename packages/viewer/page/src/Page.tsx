/** What every part of the page shares: the answers, the place, the marks; and links, and answers on their way. */
import { createContext, type JSX } from "preact"
import { useContext, useEffect, useState } from "preact/hooks"
import type * as ViewModel from "../../src/ViewModel.ts"
import * as Address from "./Address.ts"
import { type Answers } from "./answers/Answers.ts"
import { Text } from "./parts/Text.tsx"

export interface Page {
  readonly answers: Answers
  readonly home: ViewModel.Home
  readonly go: (place: Address.Place, replace?: boolean) => void
  readonly marks: ViewModel.Marks
  /** Sets a mark, or takes it away where it stands already. Undefined where none can be made. */
  readonly mark: ((session: string, entry: string | undefined, mark: ViewModel.Mark) => void) | undefined
  /** Says something to whoever looks, and to whoever listens. */
  readonly say: (text: string) => void
}

export const PageContext = createContext<Page | undefined>(undefined)

export const usePage = (): Page => {
  const page = useContext(PageContext)
  if (page === undefined) throw new Error("outside of the page")
  return page
}

/** What an answer is worth until it is there, and when there is none. */
export type Loaded<A> = { readonly value?: A; readonly error?: string }

export const useLoaded = <A,>(load: () => Promise<A>, inputs: ReadonlyArray<unknown>): Loaded<A> => {
  const [loaded, setLoaded] = useState<Loaded<A>>({})
  useEffect(() => {
    let isWanted = true
    setLoaded({})
    load().then(
      (value) => isWanted && setLoaded({ value }),
      (error: unknown) => isWanted && setLoaded({ error: error instanceof Error ? error.message : String(error) })
    )
    return () => {
      isWanted = false
    }
  }, inputs)
  return loaded
}

export const Waiting = ({ error, what }: { readonly error: string | undefined; readonly what: string }): JSX.Element =>
  error === undefined ? (
    <p class="waiting" role="status">
      {what} …
    </p>
  ) : (
    <p class="problem" role="alert">
      <Text value={error} />
    </p>
  )

/** A place of this page: never an address from a session. */
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
