/** The shown branch of a session, and going to other branches and entries. */
import { useCallback } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import type * as Address from "../Address.ts"
import { usePage } from "../Page.tsx"
import { messageOf } from "../answers/messageOf.ts"

export type SessionPlace = Extract<Address.Place, { readonly page: "session" }>

export interface BranchPlace {
  /** The end of the shown branch; undefined in a session without entries. */
  readonly leaf: number | undefined
  /** Its index in the list of branches; -1 if it is not listed. */
  readonly index: number
  /** Goes to another place in the session. */
  readonly show: (more: Partial<SessionPlace>, replace?: boolean) => void
  /** Goes to the next or previous listed branch. */
  readonly step: (by: 1 | -1) => void
  /** Shows an entry in the conversation; changes the branch if the entry is not on it. */
  readonly goTo: (entry: number) => Promise<void>
}

export const useBranches = (session: ViewModel.SessionPage, place: SessionPlace): BranchPlace => {
  const { answers, go, say } = usePage()
  const { branchCount, branches, key } = session
  const leaf = place.leaf ?? session.leaf ?? undefined
  const index = branches.findIndex(({ entry }) => entry === leaf)
  const show = useCallback(
    (more: Partial<SessionPlace>, replace = false) => go({ ...place, ...more }, replace),
    [go, place]
  )
  const step = (by: 1 | -1): void => {
    const to = (Math.max(0, index) + by + branches.length) % branches.length
    const next = branches[to]
    if (next === undefined) return
    show({ leaf: next.entry, at: undefined, view: "talk" })
    say(`branch ${to + 1} of ${branchCount}: ${next.says}`)
  }
  const goTo = useCallback(
    async (entry: number) => {
      if (leaf === undefined) return
      try {
        const end = await answers.get(ViewQuestion.end(key, entry, leaf))
        show({ view: "talk", at: entry, leaf: end === session.leaf ? undefined : end })
      } catch (error) {
        say(messageOf(error))
      }
    },
    [answers, session, leaf, show, say]
  )
  return { leaf, index, show, step, goTo }
}
