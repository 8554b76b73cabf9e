/** The conversation: the entries of one branch. */
import { type JSX } from "preact"
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { markKeys, stepKeys, useKeys } from "../Keys.tsx"
import { usePage } from "../Page.tsx"
import { type EntryCache } from "../answers/EntryCache.ts"
import { Loaded } from "../answers/Loaded.tsx"
import { useEntries } from "../answers/useEntries.ts"
import { type Selection, useSelection } from "../list/useSelection.ts"
import { type ListHandle, VirtualList } from "../list/VirtualList.tsx"
import { EntryCard } from "./EntryCard.tsx"
import { Ranges } from "./Ranges.ts"
import { type OpenEntries, useOpenEntries } from "./useOpenEntries.ts"

/** Entries fetched before and after the drawn ones. */
const AHEAD = 25
const GUESS_PIXELS = 96

interface Props {
  readonly session: ViewModel.SessionPage
  /** The end of the branch. */
  readonly leaf: number
  readonly filter: ViewModel.EntryFilter
  /** The selected entry. */
  readonly at: number | undefined
  readonly onAt: (entry: number) => void
  readonly onBranch: (entry: number) => void
  /** Called when the first entries are drawn, or cannot be. */
  readonly onReady: () => void
}

export const Conversation = (props: Props): JSX.Element => {
  const { filter, leaf, session } = props
  return (
    <Loaded question={ViewQuestion.branch(session.key, leaf, filter)} what="reading the branch">
      {(ranges) => <Branch key={`${leaf} ${filter}`} {...props} ranges={ranges} />}
    </Loaded>
  )
}

/** Fetches the drawn entries, then those around them. */
const useWanted = (ranges: Ranges, cache: EntryCache) =>
  useCallback(
    (first: number, last: number) => {
      const entriesAt = (from: number, to: number): ReadonlyArray<number> =>
        Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => ranges.at(from + at) ?? []).flat()
      cache.want([
        ...entriesAt(first, last),
        ...entriesAt(Math.max(0, first - AHEAD), first - 1),
        ...entriesAt(last + 1, last + AHEAD)
      ])
    },
    [ranges, cache]
  )

const Branch = (props: Props & { readonly ranges: ViewModel.Ranges }): JSX.Element => {
  const { at, onAt, onBranch, onReady, session } = props
  const ranges = useMemo(() => new Ranges(props.ranges), [props.ranges])
  const cache = useEntries(session.key)
  const list = useRef<ListHandle>(null)
  const open = useOpenEntries()
  const start = at === undefined ? 0 : Math.max(0, ranges.placeOf(at))
  const selection = useSelection(list, ranges.count, start)
  const onSight = useWanted(ranges, cache)

  useEffect(() => {
    if (at === undefined || ranges.at(selection.row) === at) return
    const place = Math.max(0, ranges.placeOf(at))
    selection.set(place)
    list.current?.show(place)
  }, [at, ranges])
  const isReady =
    ranges.count === 0 || cache.get(ranges.at(selection.row) ?? -1) !== undefined || cache.error !== undefined
  useEffect(() => {
    if (isReady) onReady()
  }, [isReady])
  useConversationKeys({ session, ranges, cache, selection, open, onAt })

  if (ranges.count === 0) return <p class="quiet empty">nothing here passes the filter</p>
  return (
    <VirtualList
      handle={list}
      count={ranges.count}
      guess={GUESS_PIXELS}
      role="feed"
      label="conversation"
      class="talk"
      onSight={onSight}
      first={start}
    >
      {(place) => {
        const entry = ranges.at(place) ?? -1
        const row = cache.get(entry)
        if (row === undefined) return <Blank error={cache.error} />
        return (
          <EntryCard
            sessionKey={session.key}
            sessionId={session.id}
            row={row}
            isOpen={open.isOpen(entry)}
            isSelected={place === selection.row}
            place={place}
            of={ranges.count}
            onToggle={() => open.toggle(entry)}
            onSelect={() => {
              selection.set(place)
              onAt(entry)
            }}
            onWhole={() => void cache.fetchWhole(entry)}
            onBranch={onBranch}
            next={ranges.at(place + 1)}
          />
        )
      }}
    </VirtualList>
  )
}

/** An entry that is not fetched yet. */
const Blank = ({ error }: { readonly error: string | undefined }): JSX.Element => (
  <article class="entry blank" aria-busy="true" aria-label="being read">
    {error ?? " "}
  </article>
)

const useConversationKeys = (props: {
  readonly session: ViewModel.SessionPage
  readonly ranges: Ranges
  readonly cache: EntryCache
  readonly selection: Selection
  readonly open: OpenEntries
  readonly onAt: (entry: number) => void
}): void => {
  const { mark } = usePage()
  const { cache, onAt, open, ranges, selection, session } = props
  const entry = ranges.at(selection.row)
  const id = entry === undefined ? undefined : cache.get(entry)?.id
  const select = (place: number): void => {
    const next = ranges.at(selection.select(place))
    if (next !== undefined) onAt(next)
  }
  /** Stops at an entry that is not fetched, because its kind is unknown. */
  const toUser = (by: 1 | -1): void => {
    for (let place = selection.row + by; place >= 0 && place < ranges.count; place += by) {
      const row = cache.get(ranges.at(place) ?? -1)
      if (row === undefined || row.kind === "user") return select(place)
    }
  }
  useKeys({
    ...stepKeys("entry", (by) => select(selection.row + by)),
    n: ["next turn of the user", () => toUser(1)],
    p: ["previous turn of the user", () => toUser(-1)],
    g: ["to the beginning", () => select(0)],
    G: ["to the end", () => select(ranges.count - 1)],
    Home: ["to the beginning", () => select(0)],
    End: ["to the end", () => select(ranges.count - 1)],
    e: ["open or close the entry", () => entry !== undefined && open.toggle(entry)],
    E: ["open or close all", () => open.toggleAll()],
    ...markKeys(
      ["a", "x"],
      "entry",
      mark === undefined || id === undefined || id === null ? undefined : (wanted) => mark(session.id, id, wanted)
    )
  })
}
