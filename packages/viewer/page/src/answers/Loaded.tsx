/** Parts of the page that wait for an answer. */
import { type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { type Question } from "../../../src/ViewQuestion.ts"
import { usePage } from "../Page.tsx"
import { Problem } from "../parts/Facts.tsx"
import { type Answers } from "./Answers.ts"
import { messageOf } from "./messageOf.ts"

/** Both are undefined until the answer or an error is there. */
export interface Answer<A> {
  readonly value?: A
  readonly error?: string
}

export const useAnswerOf = <A,>(answers: Answers, question: Question<A>): Answer<A> => {
  const [answer, setAnswer] = useState<Answer<A>>({})
  useEffect(() => {
    let isWanted = true
    setAnswer({})
    answers.get(question).then(
      (value) => isWanted && setAnswer({ value }),
      (error: unknown) => isWanted && setAnswer({ error: messageOf(error) })
    )
    return () => {
      isWanted = false
    }
  }, [answers, question.address])
  return answer
}

/** Asks again when the question changes. */
export const useAnswer = <A,>(question: Question<A>): Answer<A> => useAnswerOf(usePage().answers, question)

/** Draws the answer when it is there. */
export const Loaded = <A,>(props: {
  readonly question: Question<A>
  /** What the page does until then. */
  readonly what: string
  readonly children: (answer: A) => JSX.Element
}): JSX.Element => {
  const { error, value } = useAnswer(props.question)
  return value === undefined ? <Waiting error={error} what={props.what} /> : props.children(value)
}

export const Waiting = ({ error, what }: { readonly error: string | undefined; readonly what: string }): JSX.Element =>
  error === undefined ? (
    <p class="waiting" role="status">
      {what} …
    </p>
  ) : (
    <Problem text={error} isAlert />
  )
