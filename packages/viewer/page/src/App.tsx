/** The page's frame: where it is, what it asks, and the keys that work everywhere. */
import { type JSX } from "preact"
import { useCallback, useEffect, useMemo, useState } from "preact/hooks"
import type * as ViewModel from "../../src/ViewModel.ts"
import * as Address from "./Address.ts"
import { type Answers } from "./answers/Answers.ts"
import { DatasetView } from "./dataset/DatasetView.tsx"
import { HealthView } from "./health/HealthView.tsx"
import { KeyHelp, useKeys } from "./Keys.tsx"
import { Link, type Page, PageContext, Waiting, useLoaded } from "./Page.tsx"
import { SessionList } from "./sessions/SessionList.tsx"
import { SessionView } from "./session/SessionView.tsx"

export const App = ({ answers }: { readonly answers: Answers }): JSX.Element => {
  const home = useLoaded<ViewModel.Home>(() => answers.get("home"), [answers])
  return home.value === undefined ? (
    <Waiting error={home.error} what="opening" />
  ) : (
    <Whole answers={answers} home={home.value} />
  )
}

/** Ids are what sessions say, and one may be called `constructor`. */
const bare = (marks: ViewModel.Marks): ViewModel.Marks => Object.assign(Object.create(null), marks)

const placeOf = ({ begin }: ViewModel.Home): Address.Place =>
  begin.page === "session"
    ? Address.session(begin.key)
    : begin.page === "dataset"
      ? { page: "dataset" }
      : { page: "sessions", search: "" }

const Whole = ({ answers, home }: { readonly answers: Answers; readonly home: ViewModel.Home }): JSX.Element => {
  const [place, setPlace] = useState(() => Address.read(location.hash) ?? placeOf(home))
  const [marks, setMarks] = useState<ViewModel.Marks>({})
  const [said, setSaid] = useState("")
  const [isHelpOpen, setHelpOpen] = useState(false)

  useEffect(() => {
    const changed = (): void => setPlace(Address.read(location.hash) ?? placeOf(home))
    addEventListener("hashchange", changed)
    return () => removeEventListener("hashchange", changed)
  }, [home])
  useEffect(() => {
    answers.get<ViewModel.Marks>("marks").then(
      (all) => setMarks(bare(all)),
      () => setMarks({})
    )
  }, [answers])

  const go = useCallback((to: Address.Place, replace = false) => {
    const hash = Address.format(to)
    if (hash === location.hash) return
    if (replace) history.replaceState(null, "", hash)
    else history.pushState(null, "", hash)
    setPlace(to)
  }, [])
  const say = useCallback((text: string) => setSaid(text), [])

  const page = useMemo((): Page => {
    const { mark } = answers
    const isMarking = mark !== undefined && home.marksFile !== null
    return {
      answers,
      home,
      go,
      say,
      marks,
      mark: isMarking
        ? (session, entry, wanted) => {
            const before = marks[entry === undefined ? session : `${session}/${entry}`]
            const after = before === wanted ? null : wanted
            mark({ session, ...(entry === undefined ? {} : { entry }), mark: after }).then(
              (all) => {
                setMarks(bare(all))
                const what = entry === undefined ? "session" : "entry"
                say(after === null ? `the mark is off the ${what}` : `${what} marked: ${after}`)
              },
              (error: unknown) => say(error instanceof Error ? error.message : String(error))
            )
          }
        : undefined
    }
  }, [answers, home, go, say, marks])

  useKeys({
    "?": ["this help", () => setHelpOpen((is) => !is)],
    "g l": ["the list of sessions", () => go({ page: "sessions", search: "" })],
    ...(home.hasDataset ? { "g d": ["the dataset", () => go({ page: "dataset" })] as const } : {}),
    "g h": ["the health of stores and sessions", () => go({ page: "health" })]
  })

  return (
    <PageContext.Provider value={page}>
      <header class="top">
        <nav aria-label="pages">
          <strong>pi-sessions</strong>
          <Link to={{ page: "sessions", search: "" }} isHere={place.page === "sessions"}>
            Sessions
          </Link>
          {home.hasDataset && (
            <Link to={{ page: "dataset" }} isHere={place.page === "dataset"}>
              Dataset
            </Link>
          )}
          <Link to={{ page: "health" }} isHere={place.page === "health"}>
            Health
          </Link>
        </nav>
        <span class={home.isRedacted ? "badge" : "badge warn"}>{home.isRedacted ? "redacted" : "not redacted"}</span>
        <Theme />
        <button type="button" onClick={() => setHelpOpen(true)} aria-label="keys">
          ?
        </button>
      </header>
      <main>
        {place.page === "sessions" && <SessionList search={place.search} />}
        {place.page === "session" && <SessionView key={place.key} place={place} />}
        {place.page === "dataset" && <DatasetView />}
        {place.page === "health" && <HealthView />}
      </main>
      <p class="said" role="status" aria-live="polite">
        {said}
      </p>
      {isHelpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
    </PageContext.Provider>
  )
}

const THEMES = ["auto", "light", "dark"] as const

/** The system's colours unless somebody chooses others, for as long as the page is open. */
const Theme = (): JSX.Element => {
  const [theme, setTheme] = useState<(typeof THEMES)[number]>("auto")
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme
  }, [theme])
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto"
  return (
    <button type="button" onClick={() => setTheme(next)} aria-label={`colours: ${theme}; change to ${next}`}>
      {theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}
    </button>
  )
}
