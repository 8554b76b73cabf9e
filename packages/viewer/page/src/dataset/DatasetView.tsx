/** The view of a dataset: facts, funnel, plots, files, samples and sessions. */
import { type JSX } from "preact"
import { numberText } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { Loaded } from "../answers/Loaded.tsx"
import { Facts, Problem } from "../parts/Facts.tsx"
import { Bars, Columns, Funnel } from "../parts/Plots.tsx"
import { Table } from "../parts/Table.tsx"
import { Text, sizeOf } from "../parts/Text.tsx"
import { DatasetLines } from "./DatasetLines.tsx"
import { DatasetSessions } from "./DatasetSessions.tsx"

export const DatasetView = (): JSX.Element => (
  <Loaded question={ViewQuestion.dataset} what="reading the dataset">
    {(page) => <Dataset page={page} />}
  </Loaded>
)

const Dataset = ({ page }: { readonly page: ViewModel.DatasetPage }): JSX.Element => (
  <div class="page dataset" tabIndex={0} role="region" aria-label="dataset">
    <h1>
      <Text value={page.name} />
    </h1>
    <Facts class="facts-list" facts={page.facts} />
    {page.problems.map((problem) => (
      <Problem key={problem} text={problem} />
    ))}
    <h2>From files to samples</h2>
    <Funnel steps={page.funnel} />
    <Plots page={page} />
    <h2>Files</h2>
    <Table heads={["file", "split", "samples", "size"]}>
      {page.files.map((file) => (
        <tr key={file.name}>
          <td>
            <Text value={file.name} />
          </td>
          <td>{file.split}</td>
          <td>{numberText(file.samples)}</td>
          <td>{sizeOf(file.sizeBytes)}</td>
        </tr>
      ))}
    </Table>
    <h2>Samples</h2>
    <DatasetLines files={page.files.map(({ name }) => name)} />
    <h2>Sessions</h2>
    <DatasetSessions rows={page.sessions} />
  </div>
)

const Plots = ({ page }: { readonly page: ViewModel.DatasetPage }): JSX.Element => {
  const { borders, counts, median, most } = page.tokens
  return (
    <div class="plots">
      <Plot
        caption={`Tokens a sample, about: half below ${numberText(median)}, at the most ${numberText(most)}`}
        plot={
          <Columns counts={counts} names={borders.map((border) => numberText(Math.round(border)))} what="samples" />
        }
      />
      <Plot
        caption="Samples by the day their session began"
        plot={<Columns counts={page.days.map(([, n]) => n)} names={page.days.map(([day]) => day)} what="samples" />}
      />
      <Plot caption="Tools called" plot={<Bars counts={page.tools} what="calls" />} />
      <Plot caption="Roles" plot={<Bars counts={page.roles} what="samples" />} />
      <Plot caption="Models" plot={<Bars counts={page.models} what="samples" />} />
      <Plot caption="Left out of samples" plot={<Bars counts={page.dropped} what="parts" />} />
      <Plot caption="Redacted" plot={<Bars counts={page.redacted} what="places" />} />
    </div>
  )
}

const Plot = ({ caption, plot }: { readonly caption: string; readonly plot: JSX.Element }): JSX.Element => (
  <figure>
    <figcaption>{caption}</figcaption>
    {plot}
  </figure>
)
