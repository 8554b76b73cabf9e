/** A dataset: how it came to be what it is, and what is in it. */
import { type JSX } from "preact"
import { useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { Waiting, useLoaded, usePage } from "../Page.tsx"
import { Bars, Columns, Funnel } from "../parts/Plots.tsx"
import { Text, counted, sizeOf } from "../parts/Text.tsx"

export const DatasetView = (): JSX.Element => {
  const { answers } = usePage()
  const { error, value } = useLoaded<ViewModel.DatasetPage>(() => answers.get("dataset"), [answers])
  if (value === undefined) return <Waiting error={error} what="reading the dataset" />
  const { borders, counts, median, most } = value.tokens
  return (
    <div class="page dataset" tabIndex={0} role="region" aria-label="dataset">
      <h1>
        <Text value={value.name} />
      </h1>
      <dl class="facts-list">
        {value.facts.map(([name, fact]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Text value={fact} />
            </dd>
          </div>
        ))}
      </dl>
      {value.problems.map((problem) => (
        <p key={problem} class="problem">
          <Text value={problem} />
        </p>
      ))}
      <h2>From files to samples</h2>
      <Funnel steps={value.funnel} />
      <div class="plots">
        <figure>
          <figcaption>
            Tokens a sample, about: half below {median.toLocaleString("en-US")}, at the most{" "}
            {most.toLocaleString("en-US")}
          </figcaption>
          <Columns
            counts={counts}
            names={borders.map((border) => Math.round(border).toLocaleString("en-US"))}
            what="samples"
          />
        </figure>
        <figure>
          <figcaption>Samples by the day their session began</figcaption>
          <Columns counts={value.days.map(([, n]) => n)} names={value.days.map(([day]) => day)} what="samples" />
        </figure>
        <figure>
          <figcaption>Tools called</figcaption>
          <Bars counts={value.tools} what="calls" />
        </figure>
        <figure>
          <figcaption>Roles</figcaption>
          <Bars counts={value.roles} what="samples" />
        </figure>
        <figure>
          <figcaption>Models</figcaption>
          <Bars counts={value.models} what="samples" />
        </figure>
        <figure>
          <figcaption>Left out of samples</figcaption>
          <Bars counts={value.dropped} what="parts" />
        </figure>
        <figure>
          <figcaption>Redacted</figcaption>
          <Bars counts={value.redacted} what="places" />
        </figure>
      </div>
      <h2>Files</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">file</th>
            <th scope="col">split</th>
            <th scope="col">samples</th>
            <th scope="col">size</th>
          </tr>
        </thead>
        <tbody>
          {value.files.map((file) => (
            <tr key={file.name}>
              <td>
                <Text value={file.name} />
              </td>
              <td>{file.split}</td>
              <td>{file.samples.toLocaleString("en-US")}</td>
              <td>{sizeOf(file.sizeBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h2>Samples</h2>
      <Lines files={value.files} />
      <h2>Sessions</h2>
      <Sessions rows={value.sessions} />
    </div>
  )
}

const Lines = ({ files }: { readonly files: ViewModel.DatasetPage["files"] }): JSX.Element => {
  const { answers } = usePage()
  const [file, setFile] = useState(files[0]?.name ?? "")
  const [from, setFrom] = useState(0)
  const { error, value } = useLoaded<ViewModel.SampleLines>(
    () => answers.get(`dataset/lines?file=${encodeURIComponent(file)}&from=${from}&count=1`),
    [answers, file, from]
  )
  const [line] = value?.lines ?? []
  return (
    <section aria-label="samples">
      <div class="bar">
        <label>
          file{" "}
          <select
            value={file}
            onChange={(event) => {
              setFile(event.currentTarget.value)
              setFrom(0)
            }}
          >
            {files.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button type="button" disabled={from === 0} onClick={() => setFrom(from - 1)}>
          before
        </button>
        <button
          type="button"
          disabled={value === undefined || from + 1 >= value.total}
          onClick={() => setFrom(from + 1)}
        >
          next
        </button>
        <span class="quiet">
          line {from + 1} of {value?.total ?? "…"}
        </span>
      </div>
      {value === undefined ? (
        <Waiting error={error} what="reading" />
      ) : (
        <pre class="sample-line" tabIndex={0} aria-label={`line ${from + 1}`}>
          <Text value={pretty(line)} />
        </pre>
      )}
    </section>
  )
}

const pretty = (line: ViewModel.SampleLines["lines"][number] | undefined): string => {
  if (line === undefined) return "no such line"
  if (line.more !== undefined) return `${line.json} … ${line.more} more characters`
  try {
    return JSON.stringify(JSON.parse(line.json), undefined, 1)
  } catch {
    return line.json
  }
}

const LISTED = 200

const Sessions = ({ rows }: { readonly rows: ReadonlyArray<ViewModel.DatasetSession> }): JSX.Element => {
  const [most, setMost] = useState(LISTED)
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">session</th>
            <th scope="col">outcome</th>
            <th scope="col">role</th>
            <th scope="col">split</th>
            <th scope="col">samples</th>
            <th scope="col">targets</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row) => (
            <tr key={row.path}>
              <td>
                <Text value={row.id === "" ? row.path : row.id} />
              </td>
              <td class={row.outcome === "kept" ? "good" : "quiet"}>{row.outcome.replaceAll("_", " ")}</td>
              <td>
                <Text value={[row.role, row.rig].filter((word) => word !== undefined).join(" of ")} />
              </td>
              <td>{row.split ?? ""}</td>
              <td>{row.samples}</td>
              <td>{row.targets}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + LISTED)}>
          {counted(rows.length - most, "more session")}
        </button>
      )}
    </>
  )
}
