/** The bar of a session: its views, and for the conversation tree, filter, branch and search. */
import { type JSX, type RefObject } from "preact"
import { counted } from "@pi-sessions/report/Counted"
import { FILTER_NAMES } from "@pi-sessions/report/EntryFilterName"
import type * as ViewModel from "../../../src/ViewModel.ts"
import type * as Address from "../Address.ts"
import { Choice, named } from "../parts/Choice.tsx"
import { Link } from "../parts/Link.tsx"
import { timeOf } from "../parts/Text.tsx"
import { type BranchPlace, type SessionPlace } from "./useBranches.ts"

const VIEWS: ReadonlyArray<readonly [Address.View, string]> = [
  ["talk", "Conversation"],
  ["samples", "Samples"],
  ["health", "Health"]
]

/** Length of a branch's name in the list. */
const NAME = 80

interface Props {
  readonly session: ViewModel.SessionPage
  readonly place: SessionPlace
  readonly branches: BranchPlace
  /** The search field. */
  readonly field: RefObject<HTMLInputElement | null>
  readonly filter: ViewModel.EntryFilter
  readonly isTreeOpen: boolean
  readonly onFilter: (filter: ViewModel.EntryFilter) => void
  readonly onTree: () => void
  readonly onSearch: (text: string) => void
}

export const SessionBar = (props: Props): JSX.Element => {
  const { branches, field, filter, isTreeOpen, onFilter, onSearch, onTree, place, session } = props
  return (
    <div class="bar">
      <nav aria-label="views" class="tabs">
        {VIEWS.map(([view, name]) => (
          <Link key={view} to={{ ...place, view }} isHere={place.view === view}>
            {name}
          </Link>
        ))}
      </nav>
      {place.view === "talk" && (
        <>
          <button type="button" aria-pressed={isTreeOpen} onClick={onTree}>
            tree
          </button>
          <Choice label="show" value={filter} options={named(FILTER_NAMES)} onChange={onFilter} />
          {session.branchCount > 1 && branches.leaf !== undefined && (
            <Choice
              label="branch"
              value={branches.leaf}
              options={branchOptions(session.branches, branches.index < 0 ? branches.leaf : undefined)}
              onChange={(leaf) => branches.show({ leaf, at: undefined })}
            />
          )}
          <form
            role="search"
            onSubmit={(event) => {
              event.preventDefault()
              onSearch(field.current?.value ?? "")
              field.current?.blur()
            }}
          >
            <input ref={field} type="search" placeholder="search" aria-label="search this session" />
          </form>
        </>
      )}
    </div>
  )
}

/** The listed branches, after the shown branch if it is not listed. */
const branchOptions = (
  ends: ReadonlyArray<ViewModel.BranchEnd>,
  unlisted: number | undefined
): ReadonlyArray<readonly [number, string]> => [
  ...(unlisted === undefined ? [] : [[unlisted, `to entry ${unlisted}`] as const]),
  ...ends.map(({ entries, entry, isActive, says, time }) => {
    const name = `${isActive ? "leaf" : timeOf(time)}, ${counted(entries, "entry", "entries")}: ${says}`
    return [entry, name.slice(0, NAME)] as const
  })
]
