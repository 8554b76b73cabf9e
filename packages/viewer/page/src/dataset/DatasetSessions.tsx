/** The sessions of a dataset, and what extract made of each. */
import { type JSX } from "preact"
import { useState } from "preact/hooks"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { LISTED } from "../parts/Pieces.tsx"
import { Table } from "../parts/Table.tsx"
import { Text, words } from "../parts/Text.tsx"

const HEADS = ["session", "outcome", "role", "split", "samples", "targets"]

export const DatasetSessions = ({ rows }: { readonly rows: ReadonlyArray<ViewModel.DatasetSession> }): JSX.Element => {
  const [most, setMost] = useState(LISTED)
  return (
    <>
      <Table heads={HEADS}>
        {rows.slice(0, most).map((row) => (
          <tr key={row.path}>
            <td>
              <Text value={row.id === "" ? row.path : row.id} />
            </td>
            <td class={row.outcome === "kept" ? "good" : "quiet"}>{words(row.outcome)}</td>
            <td>
              <Text value={[row.role, row.rig].filter((word) => word !== undefined).join(" of ")} />
            </td>
            <td>{row.split ?? ""}</td>
            <td>{row.samples}</td>
            <td>{row.targets}</td>
          </tr>
        ))}
      </Table>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + LISTED)}>
          {counted(rows.length - most, "more session")}
        </button>
      )}
    </>
  )
}
