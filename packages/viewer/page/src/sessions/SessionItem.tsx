/** A session in the list. */
import { type JSX } from "preact"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as Address from "../Address.ts"
import { usePage } from "../Page.tsx"
import { Link } from "../parts/Link.tsx"
import { MarkButtons } from "../parts/MarkButtons.tsx"
import { Text, sizeOf, timeOf } from "../parts/Text.tsx"

interface Props {
  readonly row: ViewModel.SessionRow
  readonly summary: ViewModel.SessionSummary | undefined
  readonly isSelected: boolean
}

export const SessionItem = ({ isSelected, row, summary }: Props): JSX.Element => {
  const { marks } = usePage()
  const title = summary?.name ?? row.name ?? summary?.says ?? row.id
  return (
    <div role="listitem" class={`session ${isSelected ? "selected" : ""} ${marks[row.id] ?? ""}`}>
      <Link to={Address.session(row.key)} class="title">
        <Text value={title} />
      </Link>
      <SessionFacts row={row} summary={summary} />
      <span class="path">
        {title !== row.id && (
          <code>
            <Text value={row.id.slice(0, 13)} />{" "}
          </code>
        )}
        <Text value={row.cwd === "" ? row.path : row.cwd} />
      </span>
      <MarkButtons session={row.id} what={`session ${title}`} />
    </div>
  )
}

const SessionFacts = ({ row, summary }: Omit<Props, "isSelected">): JSX.Element => {
  const messages = summary?.messages ?? row.messages
  return (
    <span class="facts">
      {summary?.role !== undefined && summary.role !== "unknown" && (
        <span class="chip">
          <Text value={summary.rig === undefined ? summary.role : `${summary.role} of ${summary.rig}`} />
        </span>
      )}
      {messages !== undefined && <span>{counted(messages, "message")}</span>}
      <span>{sizeOf(row.sizeBytes)}</span>
      <time>{timeOf(row.startedAt)}</time>
      {row.format !== "jsonl" && <span class="chip">{row.format}</span>}
      {summary?.problem !== undefined && (
        <span class="problem">
          <Text value={summary.problem} />
        </span>
      )}
    </span>
  )
}
