/** The samples that extract makes of a session, beside the entries that they come from. */
import { type JSX } from "preact"
import { useCallback, useMemo, useState } from "preact/hooks"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { useKeys } from "../Keys.tsx"
import { Loaded, Waiting } from "../answers/Loaded.tsx"
import { useEntries } from "../answers/useEntries.ts"
import { VirtualList } from "../list/VirtualList.tsx"
import { Choice } from "../parts/Choice.tsx"
import { words } from "../parts/Text.tsx"
import { RecordedCell } from "./RecordedCell.tsx"
import { SampleCell } from "./SampleCell.tsx"
import { linesOf } from "./linesOf.ts"

const GUESS_PIXELS = 90
/** Lines fetched after the drawn ones. */
const AHEAD = 10

interface Props {
  readonly session: ViewModel.SessionPage
  readonly onEntry: (entry: number) => void
}

export const SamplesView = (props: Props): JSX.Element => {
  const { key, sampleProblem } = props.session
  if (sampleProblem !== undefined) return <Waiting error={sampleProblem} what="" />
  return (
    <Loaded question={ViewQuestion.samples(key)} what="cutting samples">
      {(page) => <Samples {...props} page={page} />}
    </Loaded>
  )
}

const Samples = ({ onEntry, page, session }: Props & { readonly page: ViewModel.SamplesPage }): JSX.Element => {
  const [chosen, setChosen] = useState(0)
  const cache = useEntries(session.key)
  const sample = page.samples[chosen]
  const lines = useMemo(() => linesOf(page, sample), [page, sample])
  const onSight = useCallback(
    (first: number, last: number) => cache.want(lines.slice(first, last + AHEAD).flatMap(({ entry }) => entry ?? [])),
    [lines, cache]
  )
  const step = (by: number): void =>
    setChosen((now) => (now + by + page.samples.length) % Math.max(1, page.samples.length))
  useKeys({ "{": ["the sample before", () => step(-1)], "}": ["the next sample", () => step(1)] })
  return (
    <div class="samples">
      <SamplesBar page={page} chosen={chosen} onChoose={setChosen} />
      <div class="columns" aria-hidden="true">
        <b>recorded</b>
        <b>learnt from</b>
      </div>
      <VirtualList
        key={chosen}
        count={lines.length}
        guess={GUESS_PIXELS}
        role="list"
        label="entries and what became of them"
        onSight={onSight}
      >
        {(at) => {
          const line = lines[at]
          if (line === undefined) return null
          const row = line.entry === undefined ? undefined : cache.get(line.entry)
          return (
            <div class="pair" role="listitem">
              <RecordedCell row={row} line={line} onEntry={onEntry} />
              <SampleCell line={line} sample={sample?.number ?? null} />
            </div>
          )
        }}
      </VirtualList>
    </div>
  )
}

/** Chooses a sample, and shows its facts. */
const SamplesBar = (props: {
  readonly page: ViewModel.SamplesPage
  readonly chosen: number
  readonly onChoose: (at: number) => void
}): JSX.Element => {
  const { chosen, onChoose, page } = props
  const { format, outcome, samples } = page
  const sample = samples[chosen]
  return (
    <div class="bar">
      {samples.length === 0 ? (
        <p class="note">
          no sample: <b>{words(outcome)}</b>
        </p>
      ) : (
        <Choice
          label="sample"
          value={chosen}
          options={samples.map(({ number, reason = "" }, at) => [
            at,
            number === null ? `not in the dataset: ${words(reason)}` : `${number} of ${samples.length}`
          ])}
          onChange={onChoose}
        />
      )}
      {sample !== undefined && (
        <span class="quiet">
          {counted(sample.targets, "target")}, about {counted(sample.tokens, "token")}, context {sample.context}, tools{" "}
          {sample.tools}, begins at: {sample.start}, format {format}
          {sample.dropped.map(([reason, count]) => `; ${count} ${words(reason)}`)}
        </span>
      )}
    </div>
  )
}
