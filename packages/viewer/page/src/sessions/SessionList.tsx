/** The list of sessions: search, order, and the sessions. */
import { type JSX, type RefObject } from "preact"
import { useMemo, useRef, useState } from "preact/hooks"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import * as Address from "../Address.ts"
import { markKeys, stepKeys, useKeys } from "../Keys.tsx"
import { usePage } from "../Page.tsx"
import { Loaded } from "../answers/Loaded.tsx"
import { useSelection } from "../list/useSelection.ts"
import { type ListHandle, VirtualList } from "../list/VirtualList.tsx"
import { Choice, named, nextOf } from "../parts/Choice.tsx"
import { Found } from "../parts/Found.tsx"
import { Link } from "../parts/Link.tsx"
import { SessionItem } from "./SessionItem.tsx"
import { SORTS, type Sort, filtered, ordered } from "./order.ts"
import { useSummaries } from "./useSummaries.ts"

export const SessionList = ({ search }: { readonly search: string }): JSX.Element => (
  <Loaded question={ViewQuestion.sessions} what="looking for sessions">
    {(rows) => <Sessions rows={rows} search={search} />}
  </Loaded>
)

const Sessions = (props: {
  readonly rows: ReadonlyArray<ViewModel.SessionRow>
  readonly search: string
}): JSX.Element => {
  const { go, home, mark } = usePage()
  const { rows, search } = props
  const [summaries, askFor] = useSummaries()
  const [filter, setFilter] = useState("")
  const [sort, setSort] = useState<Sort>("newest")
  const list = useRef<ListHandle>(null)
  const field = useRef<HTMLInputElement>(null)
  const shown = useMemo(() => filtered(ordered(rows, sort), summaries, filter), [rows, sort, filter, summaries])
  const titles = useMemo(() => new Map(rows.map(({ id, key, name }) => [key, name ?? id])), [rows])
  const selection = useSelection(list, shown.length, 0)
  const current = shown[selection.row]

  useKeys({
    ...stepKeys("session", (by) => selection.select(selection.row + by)),
    Enter: ["open", () => current !== undefined && go(Address.session(current.key))],
    "/": ["search", () => field.current?.focus()],
    s: ["next order", () => setSort((now) => nextOf(SORTS, now))],
    ...markKeys(
      ["a", "x"],
      "session",
      mark === undefined || current === undefined ? undefined : (wanted) => mark(current.id, undefined, wanted)
    )
  })

  return (
    <section class="list" aria-label="sessions">
      <SearchBar
        field={field}
        filter={filter}
        sort={sort}
        count={shown.length}
        onFilter={(text) => {
          setFilter(text)
          selection.set(0)
        }}
        onSort={setSort}
      />
      {home.note !== "" && <p class="note">{home.note}</p>}
      {search !== "" && (
        <Found
          text={search}
          titleOf={(key) => titles.get(key) ?? key}
          close={<Link to={Address.sessions}>close</Link>}
        />
      )}
      <VirtualList
        handle={list}
        count={shown.length}
        guess={64}
        role="list"
        label="sessions"
        onSight={(first, last) => askFor(shown.slice(first, last + 1).map(({ key }) => key))}
      >
        {(at) => {
          const row = shown[at]
          return row === undefined ? null : (
            <SessionItem row={row} summary={summaries.get(row.key)} isSelected={at === selection.row} />
          )
        }}
      </VirtualList>
    </section>
  )
}

/** Typing filters the list; Enter searches the texts of all sessions. */
const SearchBar = (props: {
  readonly field: RefObject<HTMLInputElement | null>
  readonly filter: string
  readonly sort: Sort
  readonly count: number
  readonly onFilter: (filter: string) => void
  readonly onSort: (sort: Sort) => void
}): JSX.Element => {
  const { go } = usePage()
  const { count, field, filter, onFilter, onSort, sort } = props
  return (
    <form
      class="bar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        go({ page: "sessions", search: filter })
        field.current?.blur()
      }}
    >
      <input
        ref={field}
        type="search"
        value={filter}
        placeholder="Name, directory, role; Enter looks into the sessions"
        aria-label="search sessions"
        onInput={(event) => onFilter(event.currentTarget.value)}
      />
      <Choice label="order" value={sort} options={named(SORTS)} onChange={onSort} />
      <span class="quiet">{counted(count, "session")}</span>
    </form>
  )
}
