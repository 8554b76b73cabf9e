/** Samples of fixtures and the lines that formats make of samples. */
import * as Fs from "node:fs"
import { Result } from "effect"
import type * as GasTown from "@pi-sessions/core/GasTown"
import * as Session from "@pi-sessions/core/Session"
import { FormatName } from "../../src/FormatName.ts"
import { type NoLine, type ProjectOptions, type Projection, type SampleFormat } from "../../src/SampleFormat.ts"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"

/** The formats that have lines. */
export const LINE_FORMATS = FormatName.literals.filter((name) => name !== "pi")

/** The formats of samples; pairs and tokens have tests of their own. */
export const SAMPLE_FORMATS = LINE_FORMATS.filter((name) => name !== "dpo" && name !== "tokens")

const FIXTURES = new URL("../../../../fixtures/sessions/", import.meta.url)

/** The samples of all branches of a fixture such as `gt/deacon-patrol`. */
export const fixtureSamples = (name: string, role: GasTown.Role = "unknown"): ReadonlyArray<TrainingSample> =>
  SampleCut.cut(Session.read(Fs.readFileSync(new URL(`${name}.jsonl`, FIXTURES))), {
    sourcePath: `/sessions/${name}.jsonl`,
    role: { role, roleSource: "override" },
    branches: "all"
  }).samples

/** What became of a piece of a sample. */
export type Line<S> =
  | {
      readonly piece: TrainingSample
      readonly text: string
      readonly projection: Extract<Projection<S>, { readonly _tag: "Sample" }>
    }
  | { readonly piece: TrainingSample; readonly refused: NoLine }

/** Each piece of the samples of one session, projected; every line was read again. */
export const linesOf = <S>(
  format: SampleFormat<S>,
  samples: ReadonlyArray<TrainingSample>,
  options: ProjectOptions = {}
): ReadonlyArray<Line<S>> =>
  samples
    .flatMap((sample) => format.divide?.(sample, options) ?? [sample])
    .map((piece, at): Line<S> => {
      const projection = format.project(piece, { ...options, piece: at })
      if (projection._tag === "None") return { piece, refused: projection.reason }
      const text = JSON.stringify(projection.sample)
      const checked = format.validate(text)
      if (Result.isFailure(checked)) throw checked.failure
      return { piece, text, projection }
    })

/** The only line of a sample. */
export const lineOf = <S>(format: SampleFormat<S>, sample: TrainingSample, options: ProjectOptions = {}): S =>
  projectionOf(format, sample, options).sample

export const projectionOf = <S>(format: SampleFormat<S>, sample: TrainingSample, options: ProjectOptions = {}) => {
  const [first] = linesOf(format, [sample], options)
  if (first === undefined || "refused" in first) throw new Error(first?.refused ?? "no piece")
  return first.projection
}

/** Why a changed line is refused; "accepted" when it is not. */
export const refusal = <S>(format: SampleFormat<S>, line: unknown): string =>
  Result.match(format.validate(JSON.stringify(line)), {
    onFailure: (error) => error.message,
    onSuccess: () => "accepted"
  })
