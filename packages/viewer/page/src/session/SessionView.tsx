/** One session: its tree, its conversation, the samples made of it, its health. */
import { type JSX } from "preact"
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import type * as Address from "../Address.ts"
import { Link, Waiting, useLoaded, usePage } from "../Page.tsx"
import { Conversation, type ConversationHandle } from "./Conversation.tsx"
import { SessionHealthView } from "../health/HealthView.tsx"
import { useKeys } from "../Keys.tsx"
import { MarkButtons } from "../parts/MarkButtons.tsx"
import { SamplesView } from "../samples/SamplesView.tsx"
import { HitLink } from "../sessions/SessionList.tsx"
import { Text, counted, timeOf } from "../parts/Text.tsx"
import { TreePane } from "./TreePane.tsx"

export const FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"] as const

const VIEWS: ReadonlyArray<readonly [Address.View, string]> = [
  ["talk", "Conversation"],
  ["samples", "Samples"],
  ["health", "Health"]
]

type SessionPlace = Extract<Address.Place, { readonly page: "session" }>

export const SessionView = ({ place }: { readonly place: SessionPlace }): JSX.Element => {
  const { answers } = usePage()
  const { error, value } = useLoaded<ViewModel.SessionPage>(
    () => answers.get(`sessions/${place.key}`),
    [answers, place.key]
  )
  return value === undefined ? (
    <Waiting error={error} what="reading the session" />
  ) : (
    <Opened session={value} place={place} />
  )
}

const Opened = (props: { readonly session: ViewModel.SessionPage; readonly place: SessionPlace }): JSX.Element => {
  const { answers, go, mark, say } = usePage()
  const { place, session } = props
  const [filter, setFilter] = useState<ViewModel.EntryFilter>("default")
  const [isTreeOpen, setTreeOpen] = useState(() => matchMedia("(min-width: 800px)").matches)
  const [search, setSearch] = useState("")
  const [isReady, setReady] = useState(false)
  const talk = useRef<ConversationHandle>(null)
  const field = useRef<HTMLInputElement>(null)
  const leaf = place.leaf ?? session.leaf ?? undefined

  const show = useCallback(
    (more: Partial<SessionPlace>, replace = false) => go({ ...place, ...more }, replace),
    [go, place]
  )
  const branchAt = session.branches.findIndex(({ entry }) => entry === leaf)
  const toBranch = (by: number): void => {
    const { length } = session.branches
    const next = session.branches[(Math.max(0, branchAt) + by + length) % length]
    if (next === undefined) return
    show({ leaf: next.entry, at: undefined, view: "talk" })
    say(`branch ${session.branches.indexOf(next) + 1} of ${session.branchCount}: ${next.says}`)
  }

  /** An entry on the branch that is shown is shown; for another the branch changes. */
  const goTo = useCallback(
    async (entry: number) => {
      if (leaf === undefined) return
      try {
        const end = await answers.get<number>(`sessions/${session.key}/end?entry=${entry}&leaf=${leaf}`)
        show({ view: "talk", at: entry, leaf: end === session.leaf ? undefined : end })
      } catch (error) {
        say(error instanceof Error ? error.message : String(error))
      }
    },
    [answers, session, leaf, show, say]
  )
  // An address that names an entry and no branch means the branch that the entry is on.
  useEffect(() => {
    if (place.at !== undefined && place.leaf === undefined) void goTo(place.at)
  }, [])

  useKeys({
    "[": ["the branch before", () => toBranch(-1)],
    "]": ["the next branch", () => toBranch(1)],
    f: [
      "the next of Pi's filters",
      () => setFilter((now) => FILTERS[(FILTERS.indexOf(now) + 1) % FILTERS.length] ?? "default")
    ],
    "/": ["search this session", () => field.current?.focus()],
    1: ["conversation", () => show({ view: "talk" })],
    2: ["samples", () => show({ view: "samples" })],
    3: ["health", () => show({ view: "health" })],
    b: ["show or hide the tree", () => setTreeOpen((is) => !is)],
    ...(mark === undefined
      ? {}
      : {
          A: ["accept the session", () => mark(session.id, undefined, "accept")] as const,
          X: ["reject the session", () => mark(session.id, undefined, "reject")] as const
        })
  })

  return (
    <section class="session-view" aria-label="session">
      <div class="bar head">
        <h1>
          <Text value={session.title === "" ? session.id : session.title} />
        </h1>
        <MarkButtons session={session.id} what="the session" />
        <details class="about-session">
          <summary>{counted(session.entries, "entry", "entries")}</summary>
          <dl>
            {session.facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <Text value={value} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      </div>
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
            <button type="button" aria-pressed={isTreeOpen} onClick={() => setTreeOpen(!isTreeOpen)}>
              tree
            </button>
            <label>
              show{" "}
              <select
                value={filter}
                onChange={(event) => setFilter(FILTERS.find((one) => one === event.currentTarget.value) ?? "default")}
              >
                {FILTERS.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
            {session.branchCount > 1 && (
              <label>
                branch{" "}
                <select
                  value={String(leaf)}
                  onChange={(event) => show({ leaf: Number(event.currentTarget.value), at: undefined })}
                >
                  {branchAt < 0 && leaf !== undefined && <option value={leaf}>to entry {leaf}</option>}
                  {session.branches.map((end) => (
                    <option key={end.entry} value={end.entry}>
                      {`${end.isActive ? "leaf" : timeOf(end.time)}, ${counted(end.entries, "entry", "entries")}: ${end.says}`.slice(
                        0,
                        80
                      )}
                    </option>
                  ))}
                </select>
              </label>
            )}
            <form
              role="search"
              onSubmit={(event) => {
                event.preventDefault()
                setSearch(field.current?.value ?? "")
                field.current?.blur()
              }}
            >
              <input ref={field} type="search" placeholder="search" aria-label="search this session" />
            </form>
          </>
        )}
      </div>
      {search !== "" && <FoundHere sessionKey={session.key} text={search} onClose={() => setSearch("")} onGo={goTo} />}
      {place.view === "talk" && (
        <div class={`panes ${isTreeOpen ? "" : "one"}`}>
          {isTreeOpen && (
            <TreePane
              sessionKey={session.key}
              filter={filter}
              isReady={isReady || leaf === undefined}
              at={place.at}
              onChoose={(row) => void goTo(row.entry)}
            />
          )}
          {leaf === undefined ? (
            <p class="quiet">no entries</p>
          ) : (
            <Conversation
              handle={talk}
              session={session}
              leaf={leaf}
              filter={filter}
              at={place.at}
              onAt={(at) => show({ at, leaf: leaf === session.leaf ? undefined : leaf }, true)}
              onBranch={(entry) => void goTo(entry)}
              onReady={() => setReady(true)}
            />
          )}
        </div>
      )}
      {place.view === "samples" && <SamplesView session={session} onEntry={(entry) => void goTo(entry)} />}
      {place.view === "health" && <SessionHealthView sessionKey={session.key} />}
    </section>
  )
}

const FoundHere = (props: {
  readonly sessionKey: string
  readonly text: string
  readonly onClose: () => void
  readonly onGo: (entry: number) => Promise<void>
}): JSX.Element => {
  const { answers } = usePage()
  const { onClose, sessionKey, text } = props
  const { error, value } = useLoaded<ViewModel.Hits>(
    () => answers.get(`search?text=${encodeURIComponent(text)}&key=${sessionKey}`),
    [answers, sessionKey, text]
  )
  const hits = useMemo(() => value?.hits ?? [], [value])
  return (
    <section class="found" aria-label={`found: ${text}`}>
      {value === undefined ? (
        <Waiting error={error} what={`looking for ${text}`} />
      ) : (
        <>
          <p class="quiet">
            {counted(hits.length, "place")}
            {value.isWhole ? "" : " and more"}{" "}
            <button type="button" onClick={onClose}>
              close
            </button>
          </p>
          <ul>
            {hits.map((hit, at) => (
              <li key={at}>
                <HitLink hit={hit} onGo={props.onGo} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
