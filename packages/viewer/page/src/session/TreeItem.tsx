/** A row of the tree: the rails of its branches, and its words. */
import { type JSX } from "preact"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { Text } from "../parts/Text.tsx"

export const ROW_PIXELS = 26
const COLUMN_PIXELS = 12

/** Roles come from the session: one with spaces would be several classes. */
const WORD = /^\w+$/u

interface Props {
  /** Undefined until the row is fetched. */
  readonly row: ViewModel.TreeRow | undefined
  readonly place: number
  readonly isSelected: boolean
  readonly onChoose: (row: ViewModel.TreeRow) => void
}

export const TreeItem = ({ isSelected, onChoose, place, row }: Props): JSX.Element => {
  if (row === undefined)
    return <div class="tree-row" role="treeitem" aria-label="being read" style={{ height: `${ROW_PIXELS}px` }} />
  return (
    <div
      id={`tree-${place}`}
      class={`tree-row ${WORD.test(row.entryKind) ? `of-${row.entryKind}` : ""} ${row.active ? "active" : ""} ${isSelected ? "selected" : ""}`}
      role="treeitem"
      aria-level={row.column + 1}
      aria-selected={isSelected}
      data-entry={row.entry}
      data-kind={row.kind}
      data-leaf={row.isLeaf}
      onClick={() => onChoose(row)}
    >
      <Rail row={row} />
      <span class="what">
        <Text value={row.what} />
      </span>
      {row.label !== undefined && (
        <span class="label">
          <Text value={row.label} />
        </span>
      )}
      {row.isLeaf && <span class="chip at-leaf">leaf</span>}
      <span class="says">
        <Text value={row.says} />
      </span>
      {row.note !== "" && row.note !== "<- leaf" && (
        <span class={row.kind === "lost" || row.note.includes("!") ? "problem" : "quiet"}>
          <Text value={row.note.replace(/^<- leaf(?:; )?/u, "")} />
        </span>
      )}
    </div>
  )
}

/** The lines of the branches, and the mark of the entry. */
const Rail = ({ row }: { readonly row: ViewModel.TreeRow }): JSX.Element => {
  const middle = ROW_PIXELS / 2
  const x = (column: number): number => column * COLUMN_PIXELS + 8
  const own = x(row.column)
  const passing = row.kind === "lost" ? 0 : row.column
  return (
    <svg width={own + 10} height={ROW_PIXELS} aria-hidden="true" class="rail">
      {Array.from({ length: passing }, (_, column) => (
        <line key={column} x1={x(column)} x2={x(column)} y1={0} y2={ROW_PIXELS} />
      ))}
      {row.leaves ? (
        <path d={`M ${x(row.column - 1)} 0 Q ${x(row.column - 1)} ${middle} ${own - 4} ${middle}`} />
      ) : (
        !row.begins && <line x1={own} x2={own} y1={0} y2={middle} />
      )}
      {!row.ends && <line x1={own} x2={own} y1={middle} y2={ROW_PIXELS} />}
      {row.kind === "fold" ? (
        <line x1={own} x2={own} y1={4} y2={ROW_PIXELS - 4} class="run" />
      ) : (
        <circle
          cx={own}
          cy={middle}
          r={row.isLeaf ? 5 : 3.5}
          class={`dot ${row.isLeaf ? "dot-leaf" : ""} ${row.kind === "lost" ? "dot-lost" : ""}`}
        />
      )}
    </svg>
  )
}
