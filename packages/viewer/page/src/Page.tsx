/** What all parts of the page share. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type * as ViewModel from "../../src/ViewModel.ts"
import type * as Address from "./Address.ts"
import { type Answers } from "./answers/Answers.ts"
import { type SetMark } from "./useMarks.ts"

export interface Page {
  readonly answers: Answers
  readonly home: ViewModel.Home
  /** Goes to a place; `replace` adds nothing to the browser's history. Default: false. */
  readonly go: (place: Address.Place, replace?: boolean) => void
  readonly marks: ViewModel.Marks
  /** Undefined if marks cannot be set. */
  readonly mark: SetMark | undefined
  /** Shows a message, and announces it to screen readers. */
  readonly say: (text: string) => void
}

export const PageContext = createContext<Page | undefined>(undefined)

export const usePage = (): Page => {
  const page = useContext(PageContext)
  if (page === undefined) throw new Error("outside of the page")
  return page
}
