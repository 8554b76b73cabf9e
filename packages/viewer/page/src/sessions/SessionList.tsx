/** All sessions, and what a search finds in them. */
import { type JSX } from "preact"
import { useMemo, useRef, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as Address from "../Address.ts"
import { Link, Waiting, useLoaded, usePage } from "../Page.tsx"
import { useKeys } from "../Keys.tsx"
import { MarkButtons } from "../parts/MarkButtons.tsx"
import { Text, counted, sizeOf, timeOf } from "../parts/Text.tsx"
import { type ListHandle, VirtualList } from "../list/VirtualList.tsx"

const SORTS = ["newest", "largest", "directory"] as const
type Sort = (typeof SORTS)[number]

const ordered = (rows: ReadonlyArray<ViewModel.SessionRow>, sort: Sort): ReadonlyArray<ViewModel.SessionRow> =>
  rows.toSorted((a, b) => {
    if (sort === "largest") return b.sizeBytes - a.sizeBytes
    if (sort === "directory" && a.cwd !== b.cwd) return a.cwd < b.cwd ? -1 : 1
    return a.startedAt === b.startedAt ? b.modifiedMs - a.modifiedMs : a.startedAt < b.startedAt ? 1 : -1
  })

/** What is known of sessions beyond their headers, asked for where they are looked at. */
const useSummaries = (): readonly [
  ReadonlyMap<string, ViewModel.SessionSummary>,
  (keys: ReadonlyArray<string>) => void
] => {
  const { answers } = usePage()
  const [known, setKnown] = useState<ReadonlyMap<string, ViewModel.SessionSummary>>(new Map())
  const asked = useRef(new Set<string>())
  const ask = (keys: ReadonlyArray<string>): void => {
    const fresh = keys.filter((key) => !asked.current.has(key))
    if (fresh.length === 0) return
    for (const key of fresh) asked.current.add(key)
    answers.get<ReadonlyArray<ViewModel.SessionSummary>>(`summaries?keys=${fresh.join(",")}`).then(
      (more) => setKnown((before) => new Map([...before, ...more.map((one) => [one.key, one] as const)])),
      () => fresh.forEach((key) => asked.current.delete(key))
    )
  }
  return [known, ask]
}

export const SessionList = ({ search }: { readonly search: string }): JSX.Element => {
  const { answers, go, home, mark } = usePage()
  const { error, value: rows } = useLoaded<ReadonlyArray<ViewModel.SessionRow>>(
    () => answers.get("sessions"),
    [answers]
  )
  const [summaries, askFor] = useSummaries()
  const [filter, setFilter] = useState("")
  const [sort, setSort] = useState<Sort>("newest")
  const [selected, setSelected] = useState(0)
  const list = useRef<ListHandle>(null)
  const field = useRef<HTMLInputElement>(null)

  const shown = useMemo(() => {
    const words = filter
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== "")
    return ordered(rows ?? [], sort).filter((row) => {
      const summary = summaries.get(row.key)
      const text = [row.id, row.cwd, row.path, row.name, summary?.name, summary?.says, summary?.role, summary?.rig]
        .join(" ")
        .toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }, [rows, sort, filter, summaries])

  const select = (row: number): void => {
    const next = Math.max(0, Math.min(shown.length - 1, row))
    setSelected(next)
    list.current?.show(next, "near")
  }
  const current = shown[selected]
  const openIt = (): void => {
    if (current !== undefined) go(Address.session(current.key))
  }
  useKeys({
    j: ["next", () => select(selected + 1)],
    k: ["previous", () => select(selected - 1)],
    ArrowDown: ["next", () => select(selected + 1)],
    ArrowUp: ["previous", () => select(selected - 1)],
    Enter: ["open", openIt],
    "/": ["search", () => field.current?.focus()],
    s: ["other order", () => setSort((now) => SORTS[(SORTS.indexOf(now) + 1) % SORTS.length] ?? "newest")],
    ...(mark === undefined || current === undefined
      ? {}
      : {
          a: ["accept the session", () => mark(current.id, undefined, "accept")] as const,
          x: ["reject the session", () => mark(current.id, undefined, "reject")] as const
        })
  })

  if (rows === undefined) return <Waiting error={error} what="looking for sessions" />
  return (
    <section class="list" aria-label="sessions">
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
          onInput={(event) => {
            setFilter(event.currentTarget.value)
            setSelected(0)
          }}
        />
        <label>
          order{" "}
          <select
            value={sort}
            onChange={(event) => setSort(SORTS.find((one) => one === event.currentTarget.value) ?? "newest")}
          >
            {SORTS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <span class="quiet">{counted(shown.length, "session")}</span>
      </form>
      {home.note !== "" && <p class="note">{home.note}</p>}
      {search !== "" && <Found text={search} rows={rows} />}
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
            <SessionItem row={row} summary={summaries.get(row.key)} isSelected={at === selected} />
          )
        }}
      </VirtualList>
    </section>
  )
}

const SessionItem = (props: {
  readonly row: ViewModel.SessionRow
  readonly summary: ViewModel.SessionSummary | undefined
  readonly isSelected: boolean
}): JSX.Element => {
  const { isSelected, row, summary } = props
  const { marks } = usePage()
  const name = summary?.name ?? row.name
  const title = name ?? summary?.says ?? row.id
  const messages = summary?.messages ?? row.messages
  const mark = marks[row.id]
  return (
    <div role="listitem" class={`session ${isSelected ? "selected" : ""} ${mark ?? ""}`}>
      <Link to={Address.session(row.key)} class="title">
        <Text value={title} />
      </Link>
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

/** What is found in the sessions' texts. */
const Found = (props: { readonly text: string; readonly rows: ReadonlyArray<ViewModel.SessionRow> }): JSX.Element => {
  const { answers } = usePage()
  const { rows, text } = props
  const { error, value } = useLoaded<ViewModel.Hits>(
    () => answers.get(`search?text=${encodeURIComponent(text)}`),
    [answers, text]
  )
  const ids = new Map(rows.map(({ id, key, name }) => [key, name ?? id]))
  return (
    <section class="found" aria-label={`found: ${text}`}>
      {value === undefined ? (
        <Waiting error={error} what={`looking for ${text}`} />
      ) : (
        <>
          <p class="quiet">
            {counted(value.hits.length, "place")}
            {value.isWhole ? "" : " and more"} <Link to={{ page: "sessions", search: "" }}>close</Link>
          </p>
          <ul>
            {value.hits.map((hit, at) => (
              <li key={at}>
                <HitLink hit={hit} title={ids.get(hit.key) ?? hit.key} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

export const HitLink = (props: {
  readonly hit: ViewModel.Hit
  readonly title?: string
  /** Where the session is open already. */
  readonly onGo?: (entry: number) => Promise<void>
}): JSX.Element => {
  const { answers, go, say } = usePage()
  const { hit, onGo, title } = props
  const open = async (): Promise<void> => {
    if (hit.entryId === null) return go(Address.session(hit.key))
    try {
      const at = await answers.get<number>(`sessions/${hit.key}/find?id=${encodeURIComponent(hit.entryId)}`)
      if (onGo === undefined) go(Address.session(hit.key, { at }))
      else await onGo(at)
    } catch (error) {
      say(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <button type="button" class="hit" onClick={() => void open()}>
      <span class="quiet">
        {title !== undefined && <Text value={title} />} {hit.kind.replaceAll("_", " ")} {timeOf(hit.time)}
      </span>
      <span>
        <Text value={hit.before} />
        <mark>
          <Text value={hit.found} />
        </mark>
        <Text value={hit.after} />
      </span>
    </button>
  )
}
