/** The models of the fixtures, and what they learn of lines of `tokens`. */
import { NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import * as Path from "node:path"
import * as LocalModel from "../../src/model/LocalModel.ts"
import { IGNORED, type TokensSample } from "../../src/TokensFormat.ts"

export const MODELS = ["chatml-marked", "drops-thinking", "one-call"] as const
export type ModelName = (typeof MODELS)[number]

export const directoryOf = (name: string): string =>
  Path.resolve(import.meta.dirname, "../../../../fixtures/models", name)

export const loadFrom = (directory: string) => LocalModel.load(directory).pipe(Effect.provide(NodeServices.layer))

export const load = (name: ModelName) => loadFrom(directoryOf(name))

/** A line in runs of what is learnt and what is not. */
export const runsOf = (
  { input_ids, labels }: Pick<TokensSample, "input_ids" | "labels">,
  model: LocalModel.LocalModel
) => {
  const runs: Array<{ readonly isLearnt: boolean; readonly ids: Array<number> }> = []
  for (const [at, id] of input_ids.entries()) {
    const isLearnt = labels[at] !== IGNORED
    const last = runs.at(-1)
    if (last?.isLearnt === isLearnt) last.ids.push(id)
    else runs.push({ isLearnt, ids: [id] })
  }
  return runs.map(({ ids, isLearnt }) => ({ isLearnt, text: model.tokenizer.decode(ids) ?? "" }))
}

/** A line as text, what is learnt in brackets. */
export const bracketed = (line: TokensSample, model: LocalModel.LocalModel): string =>
  runsOf(line, model)
    .map(({ isLearnt, text }) => (isLearnt ? `⟦${text}⟧` : text))
    .join("")
