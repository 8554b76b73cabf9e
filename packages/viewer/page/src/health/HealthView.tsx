/** The health of all sessions and their stores. */
import { type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import * as Address from "../Address.ts"
import { usePage } from "../Page.tsx"
import { Loaded } from "../answers/Loaded.tsx"
import { messageOf } from "../answers/messageOf.ts"
import { Link } from "../parts/Link.tsx"
import { Table } from "../parts/Table.tsx"
import { Text } from "../parts/Text.tsx"

/** Sessions examined at first, and by each click: each is read whole. */
const AT_ONCE = 25

type Rows = ReadonlyArray<ViewModel.SessionRow>

interface Examined {
  readonly row: ViewModel.SessionRow
  readonly health?: ViewModel.SessionHealth
  readonly error?: string
}

export const HealthView = (): JSX.Element => (
  <Loaded question={ViewQuestion.sessions} what="looking for sessions">
    {(rows) => <SessionsHealth rows={rows} />}
  </Loaded>
)

/** Examines the first `most` sessions, one after the other. */
const useExamined = (rows: Rows, most: number): ReadonlyArray<Examined> => {
  const { answers } = usePage()
  const [examined, setExamined] = useState<ReadonlyArray<Examined>>([])
  useEffect(() => {
    let isWanted = true
    const examine = async (): Promise<void> => {
      for (const row of rows.slice(examined.length, most)) {
        const one = await answers.get(ViewQuestion.health(row.key)).then(
          (health): Examined => ({ row, health }),
          (error: unknown): Examined => ({ row, error: messageOf(error) })
        )
        if (!isWanted) return
        setExamined((before) => [...before, one])
      }
    }
    void examine()
    return () => {
      isWanted = false
    }
  }, [rows, most])
  return examined
}

const SessionsHealth = ({ rows }: { readonly rows: Rows }): JSX.Element => {
  const [most, setMost] = useState(AT_ONCE)
  const examined = useExamined(rows, most)
  const errors = examined.reduce((sum, { health }) => sum + errorsIn(health), 0)
  return (
    <div class="page" tabIndex={0} role="region" aria-label="health">
      <h1>Health</h1>
      <p role="status">
        {examined.length} of {counted(rows.length, "session")} looked at, {counted(errors, "error")}
      </p>
      <Table heads={["session", "findings", "store", "checkpoint", "ledger"]}>
        {examined.map((one) => (
          <ExaminedRow key={one.row.key} examined={one} />
        ))}
      </Table>
      {examined.length >= most && most < rows.length && (
        <button type="button" onClick={() => setMost(most + AT_ONCE)}>
          look at {Math.min(AT_ONCE, rows.length - most)} more
        </button>
      )}
    </div>
  )
}

const ExaminedRow = ({ examined }: { readonly examined: Examined }): JSX.Element => {
  const { error, health, row } = examined
  const store = health?.store
  const event = store?.ledger.at(-1)
  return (
    <tr>
      <td>
        <Link to={Address.session(row.key, { view: "health" })}>
          <Text value={row.name ?? row.id} />
        </Link>
      </td>
      <td class={errorsIn(health) > 0 ? "problem" : ""}>
        <Text value={error ?? health?.problem ?? counted(health?.findings.length ?? 0, "finding")} />
      </td>
      <td>{store?.state ?? (store === null ? "file" : "")}</td>
      <td>{checkpointText(store)}</td>
      <td>{event === undefined ? "" : `${event.phase} ${event.outcome}`}</td>
    </tr>
  )
}

/** Errors of the doctor, and broken invariants of the store. */
const errorsIn = (health: ViewModel.SessionHealth | undefined): number =>
  (health?.findings.filter(({ severity }) => severity === "error").length ?? 0) + (health?.store?.findings.length ?? 0)

const checkpointText = (store: ViewModel.StoreHealth | null | undefined): string =>
  store === null || store === undefined ? "" : store.checkpoint === null ? "none" : `${store.checkpoint.behind} behind`
