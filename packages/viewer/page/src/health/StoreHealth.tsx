/** The state of a session's store, broken invariants, and its migration ledger. */
import { type JSX } from "preact"
import { counted, numberText } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { Facts, Problem } from "../parts/Facts.tsx"
import { Table } from "../parts/Table.tsx"
import { Text, timeOf } from "../parts/Text.tsx"

export const StoreHealth = ({ store }: { readonly store: ViewModel.StoreHealth }): JSX.Element => (
  <>
    {store.problem !== undefined && <Problem text={store.problem} />}
    <Facts class="facts-list" facts={factsOf(store)} />
    {store.findings.length === 0 ? (
      <p class="good">every invariant holds</p>
    ) : (
      <ul class="findings">
        {store.findings.map((finding, at) => (
          <li key={at} class="error">
            {finding.invariant !== null && <b>{finding.invariant} </b>}
            <Text value={finding.message} />
          </li>
        ))}
      </ul>
    )}
    <h3>Migration ledger</h3>
    {store.ledger.length === 0 ? <p class="quiet">no events</p> : <Ledger events={store.ledger} />}
  </>
)

const factsOf = ({
  active,
  checkpoint,
  container,
  entries,
  segments,
  state
}: ViewModel.StoreHealth): ReadonlyArray<readonly [string, string]> => [
  ["container", container],
  ["state", state ?? "unknown: the manifest is missing or damaged"],
  ["active store", active === null ? "none: there is no marker" : `${active.path} (${active.format})`],
  ["entries", numberText(entries)],
  ["segments", numberText(segments)],
  [
    "checkpoint",
    checkpoint === null
      ? "none"
      : `${checkpoint.number}, of ${timeOf(checkpoint.at)}, ${counted(checkpoint.entries, "entry", "entries")}, ${checkpoint.behind} after it`
  ]
]

const Ledger = ({ events }: { readonly events: ViewModel.StoreHealth["ledger"] }): JSX.Element => (
  <Table heads={["at", "phase", "outcome", "reason"]}>
    {events.map((event, at) => (
      <tr key={at}>
        <td>{timeOf(event.at)}</td>
        <td>{event.phase}</td>
        <td class={event.outcome === "ok" ? "good" : "problem"}>{event.outcome}</td>
        <td>
          <Text value={event.reason ?? ""} />
        </td>
      </tr>
    ))}
  </Table>
)
