/** What a sample has of an entry. */
import { type JSX } from "preact"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { LISTED } from "../parts/Pieces.tsx"
import { Text, words } from "../parts/Text.tsx"
import { Brief } from "./Brief.tsx"
import { type Line } from "./linesOf.ts"

const USES: { readonly [Use in ViewModel.SampleTurn["as"]]: string } = {
  target: "target: learnt",
  context: "context: masked",
  rejected: "rejected"
}

/** `sample` is the number of the sample; null if it is not in the dataset. */
export const SampleCell = ({ line, sample }: { readonly line: Line; readonly sample: number | null }): JSX.Element => {
  const { fate, isMore, turn } = line
  if (turn === undefined) return <AbsentCell fate={fate} sample={sample} />
  return (
    <div class={`cell made ${turn.as}`}>
      <span class={`chip ${turn.as}`}>{USES[turn.as]}</span> <strong>{turn.role}</strong>
      {(fate?.lost ?? []).map((reason) => (
        <span key={reason} class="chip drop">
          without {words(reason)}
        </span>
      ))}
      {isMore ? <p class="quiet">the same turn</p> : <Turn turn={turn} />}
    </div>
  )
}

/** An entry that this sample does not have. */
const AbsentCell = (props: { readonly fate: Line["fate"]; readonly sample: number | null }): JSX.Element => {
  const { fate, sample } = props
  const others = (fate?.told ?? []).filter((one) => one.sample !== sample)
  return (
    <div class="cell made none">
      {others.length > 0 ? (
        <span class="chip">{others.map((one) => `${one.as} of sample ${one.sample}`).join(", ")}</span>
      ) : (
        <span class="chip drop">dropped: {words(fate?.reason ?? "not in this sample")}</span>
      )}
    </div>
  )
}

const Turn = ({ turn }: { readonly turn: ViewModel.SampleTurn }): JSX.Element => (
  <>
    {turn.reasoning !== undefined && <Brief kind="thinking" text={turn.reasoning} />}
    {turn.content !== "" && <Brief text={turn.content} />}
    {turn.calls.slice(0, LISTED).map((call, at) => (
      <Brief key={at} kind="tool_call" text={call.arguments}>
        <b>
          <Text value={call.name} />
        </b>{" "}
      </Brief>
    ))}
    {turn.results.slice(0, LISTED).map((result, at) => (
      <Brief key={at} kind="output" text={result.content}>
        <b>
          <Text value={result.name} />
        </b>
        {result.isError && <span class="chip drop">error</span>}{" "}
      </Brief>
    ))}
  </>
)
