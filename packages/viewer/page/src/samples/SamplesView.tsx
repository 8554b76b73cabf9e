/** What Pi recorded, and beside it the training sample that extract makes of it: entry by entry. */
import { type JSX } from "preact"
import { useCallback, useMemo, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { Waiting, useLoaded, usePage } from "../Page.tsx"
import { textOf } from "../answers/Answers.ts"
import { nameOfKind } from "../session/EntryCard.tsx"
import { useKeys } from "../Keys.tsx"
import { LISTED } from "../parts/Pieces.tsx"
import { Text, counted } from "../parts/Text.tsx"
import { VirtualList } from "../list/VirtualList.tsx"
import { useEntries } from "../answers/useEntries.ts"

interface Props {
  readonly session: ViewModel.SessionPage
  readonly onEntry: (entry: number) => void
}

export const SamplesView = (props: Props): JSX.Element => {
  const { answers } = usePage()
  const { session } = props
  const { error, value } = useLoaded<ViewModel.SamplesPage>(
    () =>
      session.sampleProblem === undefined
        ? answers.get(`sessions/${session.key}/samples`)
        : Promise.reject(new Error(session.sampleProblem)),
    [answers, session.key]
  )
  return value === undefined ? <Waiting error={error} what="cutting samples" /> : <Samples {...props} page={value} />
}

/** What stands on one line of the two columns. */
interface Line {
  readonly entry: number | undefined
  readonly turn: ViewModel.SampleTurn | undefined
  readonly fate: ViewModel.EntryFate | undefined
  /** The turn stands on an earlier line. */
  readonly isMore: boolean
}

const linesOf = (page: ViewModel.SamplesPage, sample: ViewModel.SampleView | undefined): ReadonlyArray<Line> => {
  const turnOf = new Map<number, ViewModel.SampleTurn>()
  const bare: Array<ViewModel.SampleTurn> = []
  for (const turn of sample?.turns ?? []) {
    if (turn.entries.length === 0) bare.push(turn)
    for (const entry of turn.entries) turnOf.set(entry, turn)
  }
  const lines: Array<Line> = bare.map((turn) => ({ entry: undefined, turn, fate: undefined, isMore: false }))
  const seen = new Set<ViewModel.SampleTurn>()
  const fates = new Map(page.fates.map((fate) => [fate.entry, fate]))
  const entries = [...new Set([...fates.keys(), ...turnOf.keys()])].sort((a, b) => a - b)
  for (const entry of entries) {
    const turn = turnOf.get(entry)
    lines.push({ entry, turn, fate: fates.get(entry), isMore: turn !== undefined && seen.has(turn) })
    if (turn !== undefined) seen.add(turn)
  }
  return lines
}

const Samples = ({ onEntry, page, session }: Props & { readonly page: ViewModel.SamplesPage }): JSX.Element => {
  const { answers } = usePage()
  const [chosen, setChosen] = useState(0)
  const cache = useEntries(answers, session.key)
  const sample = page.samples[chosen]
  const lines = useMemo(() => linesOf(page, sample), [page, sample])
  const onSight = useCallback(
    (first: number, last: number) => cache.want(lines.slice(first, last + 10).flatMap(({ entry }) => entry ?? [])),
    [lines, cache]
  )
  const to = (by: number): void =>
    setChosen((now) => (now + by + page.samples.length) % Math.max(1, page.samples.length))
  useKeys({ "{": ["the sample before", () => to(-1)], "}": ["the next sample", () => to(1)] })
  return (
    <div class="samples">
      <div class="bar">
        {page.samples.length === 0 ? (
          <p class="note">
            no sample: <b>{page.outcome.replaceAll("_", " ")}</b>
          </p>
        ) : (
          <label>
            sample{" "}
            <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
              {page.samples.map((one, at) => (
                <option key={at} value={at}>
                  {one.number === null
                    ? `not in the dataset: ${one.reason?.replaceAll("_", " ")}`
                    : `${one.number} of ${page.samples.length}`}
                </option>
              ))}
            </select>
          </label>
        )}
        {sample !== undefined && (
          <span class="quiet">
            {counted(sample.targets, "target")}, about {counted(sample.tokens, "token")}, context {sample.context},
            tools {sample.tools}, begins at: {sample.start}, format {page.format}
            {sample.dropped.map(([reason, count]) => `; ${count} ${reason.replaceAll("_", " ")}`)}
          </span>
        )}
      </div>
      <div class="columns" aria-hidden="true">
        <b>recorded</b>
        <b>learnt from</b>
      </div>
      <VirtualList
        key={chosen}
        count={lines.length}
        guess={90}
        role="list"
        label="entries and what became of them"
        onSight={onSight}
      >
        {(at) => {
          const line = lines[at]
          return line === undefined ? null : (
            <div class="pair" role="listitem">
              <Recorded
                row={line.entry === undefined ? undefined : cache.get(line.entry)}
                line={line}
                onEntry={onEntry}
              />
              <Made line={line} sample={sample?.number ?? null} />
            </div>
          )
        }}
      </VirtualList>
    </div>
  )
}

/** So much of a text is shown here. */
const SHOWN = 1200

const Recorded = (props: {
  readonly row: ViewModel.EntryRow | undefined
  readonly line: Line
  readonly onEntry: (entry: number) => void
}): JSX.Element => {
  const { line, onEntry, row } = props
  const { entry } = line
  if (entry === undefined) return <div class="cell quiet">not of an entry</div>
  if (row === undefined) return <div class="cell blank">…</div>
  return (
    <div class={`cell entry ${row.kind}`}>
      <button type="button" class="plain" onClick={() => onEntry(entry)}>
        <strong>{nameOfKind(row.kind)}</strong>{" "}
        <code>
          <Text value={row.id ?? ""} />
        </code>
      </button>
      {row.parts.slice(0, LISTED).map((part, at) => (
        <div key={at} class={`text brief ${part.part}`}>
          {part.part === "image" ? "[picture]" : <Text value={cut(textOf(part))} />}
        </div>
      ))}
    </div>
  )
}

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)} …` : text)

const Made = ({ line, sample }: { readonly line: Line; readonly sample: number | null }): JSX.Element => {
  const { fate, isMore, turn } = line
  if (turn === undefined) {
    const elsewhere = (fate?.told ?? []).filter((one) => one.sample !== sample)
    return (
      <div class="cell made none">
        {elsewhere.length > 0 ? (
          <span class="chip">{elsewhere.map((one) => `${one.as} of sample ${one.sample}`).join(", ")}</span>
        ) : (
          <span class="chip drop">dropped: {(fate?.reason ?? "not in this sample").replaceAll("_", " ")}</span>
        )}
      </div>
    )
  }
  return (
    <div class={`cell made ${turn.as}`}>
      <span class={`chip ${turn.as}`}>
        {turn.as === "target" ? "target: learnt" : turn.as === "context" ? "context: masked" : "rejected"}
      </span>{" "}
      <strong>{turn.role}</strong>
      {(fate?.lost ?? []).map((reason) => (
        <span key={reason} class="chip drop">
          without {reason.replaceAll("_", " ")}
        </span>
      ))}
      {isMore ? (
        <p class="quiet">the same turn</p>
      ) : (
        <>
          {turn.reasoning !== undefined && (
            <div class="text brief thinking">
              <Text value={cut(turn.reasoning)} />
            </div>
          )}
          {turn.content !== "" && (
            <div class="text brief">
              <Text value={cut(turn.content)} />
            </div>
          )}
          {turn.calls.slice(0, LISTED).map((call, at) => (
            <div key={at} class="text brief tool_call">
              <b>
                <Text value={call.name} />
              </b>{" "}
              <Text value={cut(call.arguments)} />
            </div>
          ))}
          {turn.results.slice(0, LISTED).map((result, at) => (
            <div key={at} class="text brief output">
              <b>
                <Text value={result.name} />
              </b>
              {result.isError && <span class="chip drop">error</span>} <Text value={cut(result.content)} />
            </div>
          ))}
        </>
      )}
    </div>
  )
}
