/** The marks, and setting them. */
import { useEffect, useMemo, useState } from "preact/hooks"
import { markKey } from "../../src/MarkKey.ts"
import type * as ViewModel from "../../src/ViewModel.ts"
import * as ViewQuestion from "../../src/ViewQuestion.ts"
import { type Answers } from "./answers/Answers.ts"
import { messageOf } from "./answers/messageOf.ts"

/** Sets a mark on a session or an entry; removes it if it is set already. */
export type SetMark = (session: string, entry: string | undefined, mark: ViewModel.Mark) => void

/** Without a prototype: a session's id can be `constructor`. */
const bare = (marks: ViewModel.Marks): ViewModel.Marks => Object.assign(Object.create(null), marks)

/** The second value is undefined if marks cannot be set. */
export const useMarks = (
  answers: Answers,
  home: ViewModel.Home,
  say: (text: string) => void
): readonly [ViewModel.Marks, SetMark | undefined] => {
  const [marks, setMarks] = useState<ViewModel.Marks>({})
  useEffect(() => {
    answers.get(ViewQuestion.marks).then(
      (all) => setMarks(bare(all)),
      () => setMarks({})
    )
  }, [answers])
  const set = useMemo((): SetMark | undefined => {
    const { mark } = answers
    if (mark === undefined || home.marksFile === null) return undefined
    return (session, entry, wanted) => {
      const after = marks[markKey(session, entry)] === wanted ? null : wanted
      mark({ session, ...(entry === undefined ? {} : { entry }), mark: after }).then(
        (all) => {
          setMarks(bare(all))
          const what = entry === undefined ? "session" : "entry"
          say(after === null ? `mark of the ${what} removed` : `${what} marked: ${after}`)
        },
        (error: unknown) => say(messageOf(error))
      )
    }
  }, [answers, home, marks, say])
  return [marks, set]
}
