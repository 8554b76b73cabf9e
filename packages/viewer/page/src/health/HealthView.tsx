/** Damage that the doctor finds, and how stores stand. */
import { type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as Address from "../Address.ts"
import { Link, Waiting, useLoaded, usePage } from "../Page.tsx"
import { Text, counted, timeOf } from "../parts/Text.tsx"

export const SessionHealthView = ({ sessionKey }: { readonly sessionKey: string }): JSX.Element => {
  const { answers } = usePage()
  const { error, value } = useLoaded<ViewModel.SessionHealth>(
    () => answers.get(`sessions/${sessionKey}/health`),
    [answers, sessionKey]
  )
  return (
    <div class="page" tabIndex={0} role="region" aria-label="health">
      {value === undefined ? <Waiting error={error} what="looking for damage" /> : <Health health={value} />}
    </div>
  )
}

const Health = ({ health }: { readonly health: ViewModel.SessionHealth }): JSX.Element => (
  <>
    <h2>Doctor</h2>
    {health.problem !== undefined && (
      <p class="problem">
        <Text value={health.problem} />
      </p>
    )}
    {health.problem === undefined && health.findings.length === 0 && (
      <p class="good">nothing is wrong with the session</p>
    )}
    {health.findings.length > 0 && (
      <ul class="findings">
        {health.findings.map((finding, at) => (
          <li key={at} class={finding.severity}>
            <b>{finding.severity}</b> {finding.code}, line {finding.line}: <Text value={finding.message} />
            <dl>
              <dt>Pi 0.78</dt>
              <dd>
                <Text value={finding.pi078} />
              </dd>
              <dt>Pi 1.5</dt>
              <dd>
                <Text value={finding.pi15} />
              </dd>
              {finding.mend !== null && (
                <>
                  <dt>a repair</dt>
                  <dd>
                    <Text value={finding.mend} />
                  </dd>
                </>
              )}
            </dl>
          </li>
        ))}
      </ul>
    )}
    <h2>Store</h2>
    {health.store === null ? <p class="quiet">a file; the session has no container</p> : <Store store={health.store} />}
  </>
)

const Store = ({ store }: { readonly store: ViewModel.StoreHealth }): JSX.Element => {
  const { checkpoint } = store
  const facts: ReadonlyArray<readonly [string, string]> = [
    ["container", store.container],
    ["state", store.state ?? "unknown: the manifest is missing or damaged"],
    [
      "active store",
      store.active === null ? "none: there is no marker" : `${store.active.path} (${store.active.format})`
    ],
    ["entries", store.entries.toLocaleString("en-US")],
    ["segments", store.segments.toLocaleString("en-US")],
    [
      "checkpoint",
      checkpoint === null
        ? "none"
        : `${checkpoint.number}, of ${timeOf(checkpoint.at)}, ${counted(checkpoint.entries, "entry", "entries")}, ${checkpoint.behind} after it`
    ]
  ]
  return (
    <>
      {store.problem !== undefined && (
        <p class="problem">
          <Text value={store.problem} />
        </p>
      )}
      <dl class="facts-list">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Text value={value} />
            </dd>
          </div>
        ))}
      </dl>
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
      {store.ledger.length === 0 ? (
        <p class="quiet">no events</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">at</th>
              <th scope="col">phase</th>
              <th scope="col">outcome</th>
              <th scope="col">reason</th>
            </tr>
          </thead>
          <tbody>
            {store.ledger.map((event, at) => (
              <tr key={at}>
                <td>{timeOf(event.at)}</td>
                <td>{event.phase}</td>
                <td class={event.outcome === "ok" ? "good" : "problem"}>{event.outcome}</td>
                <td>
                  <Text value={event.reason ?? ""} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

/** So many sessions are looked at before somebody asks for more: each is read whole. */
const AT_ONCE = 25

interface Looked {
  readonly row: ViewModel.SessionRow
  readonly health?: ViewModel.SessionHealth
  readonly error?: string
}

export const HealthView = (): JSX.Element => {
  const { answers } = usePage()
  const { error, value: rows } = useLoaded<ReadonlyArray<ViewModel.SessionRow>>(
    () => answers.get("sessions"),
    [answers]
  )
  const [most, setMost] = useState(AT_ONCE)
  const [looked, setLooked] = useState<ReadonlyArray<Looked>>([])
  useEffect(() => {
    if (rows === undefined) return
    let isWanted = true
    const look = async (): Promise<void> => {
      for (const row of rows.slice(looked.length, most)) {
        const one = await answers.get<ViewModel.SessionHealth>(`sessions/${row.key}/health`).then(
          (health): Looked => ({ row, health }),
          (error: unknown): Looked => ({ row, error: error instanceof Error ? error.message : String(error) })
        )
        if (!isWanted) return
        setLooked((before) => [...before, one])
      }
    }
    void look()
    return () => {
      isWanted = false
    }
  }, [rows, most])
  if (rows === undefined) return <Waiting error={error} what="looking for sessions" />
  const errors = looked.reduce((sum, { health }) => sum + severe(health), 0)
  return (
    <div class="page" tabIndex={0} role="region" aria-label="health">
      <h1>Health</h1>
      <p role="status">
        {looked.length} of {counted(rows.length, "session")} looked at, {counted(errors, "error")}
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">session</th>
            <th scope="col">findings</th>
            <th scope="col">store</th>
            <th scope="col">checkpoint</th>
            <th scope="col">ledger</th>
          </tr>
        </thead>
        <tbody>
          {looked.map(({ error: problem, health, row }) => (
            <tr key={row.key}>
              <td>
                <Link to={Address.session(row.key, { view: "health" })}>
                  <Text value={row.name ?? row.id} />
                </Link>
              </td>
              <td class={severe(health) > 0 ? "problem" : ""}>
                <Text value={problem ?? health?.problem ?? counted(health?.findings.length ?? 0, "finding")} />
              </td>
              <td>{health?.store?.state ?? (health?.store === null ? "file" : "")}</td>
              <td>{checkpointOf(health?.store)}</td>
              <td>{ledgerOf(health?.store)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {looked.length >= most && most < rows.length && (
        <button type="button" onClick={() => setMost(most + AT_ONCE)}>
          look at {Math.min(AT_ONCE, rows.length - most)} more
        </button>
      )}
    </div>
  )
}

const severe = (health: ViewModel.SessionHealth | undefined): number =>
  (health?.findings.filter(({ severity }) => severity === "error").length ?? 0) + (health?.store?.findings.length ?? 0)

const checkpointOf = (store: ViewModel.StoreHealth | null | undefined): string =>
  store === null || store === undefined ? "" : store.checkpoint === null ? "none" : `${store.checkpoint.behind} behind`

const ledgerOf = (store: ViewModel.StoreHealth | null | undefined): string => {
  const event = store?.ledger.at(-1)
  return event === undefined ? "" : `${event.phase} ${event.outcome}`
}
