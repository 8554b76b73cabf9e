/** Plots, each with its numbers as text. */
import { type JSX } from "preact"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { numberText } from "@pi-sessions/report/Counted"
import { Text, words } from "./Text.tsx"

type Counts = ReadonlyArray<readonly [string, number]>

/** Steps of a funnel, and what was dropped between them. */
export const Funnel = ({ steps }: { readonly steps: ReadonlyArray<ViewModel.FunnelStep> }): JSX.Element => {
  // Files and sessions have one scale, samples another.
  const isSample = (name: string): boolean => name.startsWith("samples")
  const most = (samples: boolean): number =>
    Math.max(1, ...steps.filter(({ name }) => isSample(name) === samples).map(({ count }) => count))
  return (
    <ol class="funnel">
      {steps.map((step) => (
        <li key={step.name}>
          <span class="name">{step.name}</span>
          <Bar share={step.count / most(isSample(step.name))} />
          <b>{numberText(step.count)}</b>
          {step.dropped.length > 0 && (
            <ul class="lost">
              {step.dropped.map(([reason, count]) => (
                <li key={reason}>
                  − {numberText(count)} {words(reason)}
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
  )
}

const Bar = ({ share }: { readonly share: number }): JSX.Element => (
  <svg class="bar-plot" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    <rect x={0} y={0} width={Math.max(share > 0 ? 0.5 : 0, 100 * share)} height={10} rx={1} />
  </svg>
)

/** Bars shown. */
const LISTED = 12

/** Counts by name, the largest first. */
export const Bars = ({ counts, what }: { readonly counts: Counts; readonly what: string }): JSX.Element => {
  const most = Math.max(1, ...counts.map(([, count]) => count))
  if (counts.length === 0) return <p class="quiet">none</p>
  return (
    <ul class="bars" aria-label={what}>
      {counts.slice(0, LISTED).map(([name, count]) => (
        <li key={name}>
          <span class="name">
            <Text value={words(name)} />
          </span>
          <Bar share={count / most} />
          <b>{numberText(count)}</b>
        </li>
      ))}
      {counts.length > LISTED && <li class="quiet">and {counts.length - LISTED} more</li>}
    </ul>
  )
}

/** In units of the plot. */
const WIDTH = 480
const HEIGHT = 120

/** Counts as columns; `names` are of the columns, or of the borders between them (one more). */
export const Columns = (props: {
  readonly counts: ReadonlyArray<number>
  readonly names: ReadonlyArray<string>
  readonly what: string
}): JSX.Element => {
  const { counts, names, what } = props
  if (counts.length === 0) return <p class="quiet">none</p>
  const most = Math.max(1, ...counts)
  const wide = WIDTH / counts.length
  const isBorders = names.length === counts.length + 1
  const nameOf = (at: number): string => (isBorders ? `${names[at]} to ${names[at + 1]}` : (names[at] ?? ""))
  const summary = counts
    .map((count, at) => `${nameOf(at)}: ${count}`)
    .slice(0, 60)
    .join("; ")
  return (
    <>
      <svg class="columns-plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${what}: ${summary}`}>
        {counts.map((count, at) => {
          const high = (HEIGHT - 4) * (count / most)
          return (
            <rect key={at} x={at * wide + 1} y={HEIGHT - high} width={Math.max(1, wide - 2)} height={high}>
              <title>{`${nameOf(at)}: ${numberText(count)}`}</title>
            </rect>
          )
        })}
      </svg>
      <p class="axis">
        <span>{names[0]}</span>
        <span>{names.at(-1)}</span>
      </p>
    </>
  )
}
