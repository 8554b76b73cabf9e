/** An entry as recorded. */
import { type JSX } from "preact"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { textOf } from "../answers/searchEntries.ts"
import { LISTED } from "../parts/Pieces.tsx"
import { Text } from "../parts/Text.tsx"
import { kindNames } from "../session/kindNames.ts"
import { Brief } from "./Brief.tsx"
import { type Line } from "./linesOf.ts"

export const RecordedCell = (props: {
  /** Undefined until it is fetched. */
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
        <strong>{kindNames[row.kind]}</strong>{" "}
        <code>
          <Text value={row.id ?? ""} />
        </code>
      </button>
      {row.parts.slice(0, LISTED).map((part, at) => (
        <Brief key={at} kind={part.part} text={part.part === "image" ? "[picture]" : textOf(part)} />
      ))}
    </div>
  )
}
