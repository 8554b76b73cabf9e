/** The entries of one branch, one below the other. */
import { type JSX, type Ref } from "preact"
import { useCallback, useEffect, useImperativeHandle, useMemo, useRef, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { Waiting, useLoaded, usePage } from "../Page.tsx"
import { EntryCard } from "./EntryCard.tsx"
import { useKeys } from "../Keys.tsx"
import { Ranges } from "./Ranges.ts"
import { type ListHandle, VirtualList } from "../list/VirtualList.tsx"
import { useEntries } from "../answers/useEntries.ts"

/** What is fetched beyond the rows in sight, on each side. */
const AHEAD = 25
const GUESS_PIXELS = 96

export interface ConversationHandle {
  readonly focus: () => void
}

interface Props {
  readonly session: ViewModel.SessionPage
  /** The end of the branch. */
  readonly leaf: number
  readonly filter: ViewModel.EntryFilter
  /** The entry that is looked at. */
  readonly at: number | undefined
  readonly onAt: (entry: number) => void
  readonly onBranch: (entry: number) => void
  /** The first entries are there, or there are none. */
  readonly onReady: () => void
  readonly handle: Ref<ConversationHandle>
}

export const Conversation = (props: Props): JSX.Element => {
  const { answers } = usePage()
  const { filter, leaf, session } = props
  const { error, value } = useLoaded<ViewModel.Ranges>(
    () => answers.get(`sessions/${session.key}/branch?leaf=${leaf}&filter=${filter}`),
    [answers, session.key, leaf, filter]
  )
  if (value === undefined) return <Waiting error={error} what="reading the branch" />
  return <Branch key={`${leaf} ${filter}`} {...props} ranges={value} />
}

const Branch = (props: Props & { readonly ranges: ViewModel.Ranges }): JSX.Element => {
  const { answers, mark } = usePage()
  const { at, handle, onAt, onBranch, onReady, ranges: told, session } = props
  const ranges = useMemo(() => new Ranges(told), [told])
  const cache = useEntries(answers, session.key)
  const list = useRef<ListHandle>(null)
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const [isAllOpen, setAllOpen] = useState(false)
  const start = at === undefined ? 0 : Math.max(0, ranges.placeOf(at))
  const [selected, setSelected] = useState(start)
  useImperativeHandle(handle, () => ({ focus: () => list.current?.focus() }), [])

  useEffect(() => {
    if (at === undefined || ranges.at(selected) === at) return
    const place = Math.max(0, ranges.placeOf(at))
    setSelected(place)
    list.current?.show(place)
  }, [at, ranges])

  const onSight = useCallback(
    (first: number, last: number) => {
      const entries: Array<number> = []
      for (let place = Math.max(0, first - AHEAD); place <= last + AHEAD; place++) {
        const entry = ranges.at(place)
        if (entry !== undefined) entries.push(entry)
      }
      // What can be seen comes first.
      const seen = new Set<number>()
      for (let place = first; place <= last; place++) seen.add(ranges.at(place) ?? -1)
      cache.want([...entries.filter((entry) => seen.has(entry)), ...entries.filter((entry) => !seen.has(entry))])
    },
    [ranges, cache]
  )

  const select = (place: number): void => {
    const next = Math.max(0, Math.min(ranges.count - 1, place))
    setSelected(next)
    list.current?.show(next, "near")
    const entry = ranges.at(next)
    if (entry !== undefined) onAt(entry)
  }
  const entry = ranges.at(selected)
  const row = entry === undefined ? undefined : cache.get(entry)
  const toggle = (which: number | undefined): void => {
    if (which === undefined) return
    setOpen((before) => {
      const after = new Set(before)
      if (!after.delete(which)) after.add(which)
      return after
    })
  }
  /** To the next thing that a person said, among those that were read. */
  const toUser = (by: 1 | -1): void => {
    for (let place = selected + by; place >= 0 && place < ranges.count; place += by) {
      const known = cache.get(ranges.at(place) ?? -1)
      if (known === undefined || known.kind === "user") return select(place)
    }
  }
  const id = row?.id
  const isReady = ranges.count === 0 || row !== undefined || cache.error !== undefined
  useEffect(() => {
    if (isReady) onReady()
  }, [isReady])
  useKeys({
    j: ["next entry", () => select(selected + 1)],
    k: ["previous entry", () => select(selected - 1)],
    ArrowDown: ["next entry", () => select(selected + 1)],
    ArrowUp: ["previous entry", () => select(selected - 1)],
    n: ["next turn of the user", () => toUser(1)],
    p: ["previous turn of the user", () => toUser(-1)],
    g: ["to the beginning", () => select(0)],
    G: ["to the end", () => select(ranges.count - 1)],
    Home: ["to the beginning", () => select(0)],
    End: ["to the end", () => select(ranges.count - 1)],
    e: ["open or close the entry", () => toggle(entry)],
    E: ["open or close all", () => setAllOpen((is) => !is)],
    ...(mark === undefined || id === undefined || id === null
      ? {}
      : {
          a: ["accept the entry", () => mark(session.id, id, "accept")] as const,
          x: ["reject the entry", () => mark(session.id, id, "reject")] as const
        })
  })

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
        const index = ranges.at(place) ?? -1
        const shown = cache.get(index)
        if (shown === undefined) {
          return (
            <article class="entry blank" aria-busy="true" aria-label="being read">
              {cache.error ?? " "}
            </article>
          )
        }
        return (
          <EntryCard
            sessionKey={session.key}
            sessionId={session.id}
            row={shown}
            isOpen={open.has(index) !== isAllOpen}
            isSelected={place === selected}
            place={place}
            of={ranges.count}
            onToggle={() => toggle(index)}
            onSelect={() => {
              setSelected(place)
              onAt(index)
            }}
            onWhole={() => void cache.whole(index)}
            onBranch={onBranch}
            next={ranges.at(place + 1)}
          />
        )
      }}
    </VirtualList>
  )
}
