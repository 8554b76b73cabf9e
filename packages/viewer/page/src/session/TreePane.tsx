/** The session's tree. */
import { type JSX } from "preact"
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { useKeys } from "../Keys.tsx"
import { Waiting } from "../answers/Loaded.tsx"
import { useSelection } from "../list/useSelection.ts"
import { type ListHandle, VirtualList } from "../list/VirtualList.tsx"
import { ROW_PIXELS, TreeItem } from "./TreeItem.tsx"
import { type Tree, useTree } from "./useTree.ts"

interface Props {
  readonly sessionKey: string
  readonly filter: ViewModel.EntryFilter
  /** The conversation is drawn; it comes first, because a large tree takes time. */
  readonly isReady: boolean
  /** The selected entry of the conversation. */
  readonly at: number | undefined
  readonly onChoose: (row: ViewModel.TreeRow) => void
}

export const TreePane = ({ at, filter, isReady, onChoose, sessionKey }: Props): JSX.Element => {
  const [all, setAll] = useState(false)
  const tree = useTree(sessionKey, { filter, all }, isReady)
  const list = useRef<ListHandle>(null)
  const { row: selected, select, set } = useSelection(list, tree.total ?? 0, -1)
  const here = useMemo(() => placeOf(tree.rows, at), [at, tree.rows, tree.rows.size])
  useEffect(() => {
    if (here >= 0) select(here)
  }, [here])
  const choose = (): void => {
    const row = tree.rows.get(selected)
    if (row !== undefined) onChoose(row)
  }
  useKeys({
    t: ["to the tree", () => list.current?.focus()],
    T: [all ? "runs of entries in one row" : "a row for each entry", () => setAll((is) => !is)]
  })

  return (
    <section class="tree" aria-label="tree">
      <div class="bar">
        <label>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> every entry
        </label>
      </div>
      {tree.total === undefined ? (
        <Waiting error={tree.error} what="drawing the tree" />
      ) : (
        <VirtualList
          handle={list}
          count={tree.total}
          guess={ROW_PIXELS}
          role="tree"
          label="tree of the session"
          activeId={selected < 0 ? undefined : `tree-${selected}`}
          onSight={tree.want}
          onKeyDown={treeKeys((by) => select(selected + by), choose)}
        >
          {(place) => (
            <TreeItem
              row={tree.rows.get(place)}
              place={place}
              isSelected={place === selected}
              onChoose={(row) => {
                set(place)
                onChoose(row)
              }}
            />
          )}
        </VirtualList>
      )}
    </section>
  )
}

/** The place of the fetched row with the entry; -1 if there is none. */
const placeOf = (rows: Tree["rows"], entry: number | undefined): number => {
  let found = -1
  for (const [place, row] of rows) {
    if (entry !== undefined && row.entry <= entry && entry <= row.last && mayHave(row, entry)) found = place
  }
  return found
}

/** A fold has entries between its first and last, though not all of them. */
const mayHave = (row: ViewModel.TreeRow, entry: number): boolean => row.kind === "fold" || row.entry === entry

/** Keys of the focused tree take precedence over those of the page. */
const treeKeys =
  (step: (by: number) => void, choose: () => void) =>
  (event: KeyboardEvent): void => {
    const actions: { readonly [key: string]: (() => void) | undefined } = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      j: () => step(1),
      k: () => step(-1),
      Enter: choose,
      " ": choose
    }
    const act = actions[event.key]
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
