/** The source of the page's answers: the server, or the self-contained file. */
import type * as ViewModel from "../../../src/ViewModel.ts"
import { type Question } from "../../../src/ViewQuestion.ts"

export interface Answers {
  readonly get: <A>(question: Question<A>) => Promise<A>
  /** Undefined if marks cannot be set. */
  readonly mark: ((request: ViewModel.MarkRequest) => Promise<ViewModel.Marks>) | undefined
}
