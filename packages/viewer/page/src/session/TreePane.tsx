/** The session's tree as a picture: a row for each entry or run of entries, its branches drawn beside. */
import { type JSX } from "preact"
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { type Page, Waiting, usePage } from "../Page.tsx"
import { useKeys } from "../Keys.tsx"
import { Text } from "../parts/Text.tsx"
import { type ListHandle, VirtualList } from "../list/VirtualList.tsx"

const ROW_PIXELS = 26
const COLUMN_PIXELS = 12
const AT_ONCE = 100

interface Props {
  readonly sessionKey: string
  readonly filter: ViewModel.EntryFilter
  /** The conversation comes first: a large tree takes a moment to be drawn. */
  readonly isReady: boolean
  /** The entry that is looked at in the conversation. */
  readonly at: number | undefined
  readonly onChoose: (row: ViewModel.TreeRow) => void
}

/** Rows of the tree, in pages. */
const useTree = (answers: Page["answers"], key: string, filter: string, all: boolean, isReady: boolean) => {
  const [, setVersion] = useState(0)
  const state = useMemo(
    () => ({ total: -1, rows: new Map<number, ViewModel.TreeRow>(), asked: new Set<number>(), error: "" }),
    [answers, key, filter, all]
  )
  const ask = (page: number): void => {
    if (state.asked.has(page)) return
    state.asked.add(page)
    const from = page * AT_ONCE
    const address = `sessions/${key}/tree?filter=${filter}${all ? "&all=1" : ""}&from=${from}&count=${AT_ONCE}`
    answers.get<ViewModel.TreePage>(address).then(
      ({ rows, total }) => {
        state.total = total
        for (const [at, row] of rows.entries()) state.rows.set(from + at, row)
        setVersion((now) => now + 1)
      },
      (error: unknown) => {
        state.error = error instanceof Error ? error.message : String(error)
        setVersion((now) => now + 1)
      }
    )
  }
  useEffect(() => {
    if (isReady) ask(0)
  }, [state, isReady])
  return { ...state, ask }
}

export const TreePane = ({ at, filter, isReady, onChoose, sessionKey }: Props): JSX.Element => {
  const { answers } = usePage()
  const [all, setAll] = useState(false)
  const tree = useTree(answers, sessionKey, filter, all, isReady)
  const list = useRef<ListHandle>(null)
  const [selected, setSelected] = useState(-1)

  // The row of the entry that is looked at, among those that are known.
  const here = useMemo(() => {
    if (at === undefined) return -1
    let found = -1
    for (const [place, row] of tree.rows) if (row.entry <= at && at <= row.last && holds(row, at)) found = place
    return found
  }, [at, tree.rows.size])
  useEffect(() => {
    if (here >= 0) {
      setSelected(here)
      list.current?.show(here, "near")
    }
  }, [here])

  const move = (by: number): void => {
    const next = Math.max(0, Math.min(tree.total - 1, selected + by))
    setSelected(next)
    list.current?.show(next, "near")
  }
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
      {tree.total < 0 ? (
        <Waiting error={tree.error === "" ? undefined : tree.error} what="drawing the tree" />
      ) : (
        <VirtualList
          handle={list}
          count={tree.total}
          guess={ROW_PIXELS}
          role="tree"
          label="tree of the session"
          activeId={selected < 0 ? undefined : `tree-${selected}`}
          onSight={(first, last) => {
            for (let page = Math.floor(first / AT_ONCE); page <= Math.floor(last / AT_ONCE); page++) tree.ask(page)
          }}
          onKeyDown={(event) => {
            const act = {
              ArrowDown: () => move(1),
              ArrowUp: () => move(-1),
              j: () => move(1),
              k: () => move(-1),
              Enter: choose,
              " ": choose
            }[event.key]
            if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return
            event.preventDefault()
            event.stopPropagation()
            act()
          }}
        >
          {(place) => (
            <TreeItem
              row={tree.rows.get(place)}
              place={place}
              isSelected={place === selected}
              onChoose={(row) => {
                setSelected(place)
                onChoose(row)
              }}
            />
          )}
        </VirtualList>
      )}
    </section>
  )
}

/** A run holds entries of its branch alone; between them others may stand in the file. */
const holds = (row: ViewModel.TreeRow, entry: number): boolean => row.kind === "fold" || row.entry === entry

/** A role is what a session says: one of several words would be several classes. */
const WORD = /^\w+$/u

const TreeItem = (props: {
  readonly row: ViewModel.TreeRow | undefined
  readonly place: number
  readonly isSelected: boolean
  readonly onChoose: (row: ViewModel.TreeRow) => void
}): JSX.Element => {
  const { isSelected, onChoose, place, row } = props
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

/** Lines of the branches that pass, and the mark of the entry. */
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
