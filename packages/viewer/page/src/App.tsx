/** The frame of the page: navigation, the current view, messages and help. */
import { type JSX } from "preact"
import { useCallback, useEffect, useMemo, useState } from "preact/hooks"
import type * as ViewModel from "../../src/ViewModel.ts"
import * as ViewQuestion from "../../src/ViewQuestion.ts"
import * as Address from "./Address.ts"
import { KeyHelp, useKeys } from "./Keys.tsx"
import { type Page, PageContext, usePage } from "./Page.tsx"
import { type Answers } from "./answers/Answers.ts"
import { Waiting, useAnswerOf } from "./answers/Loaded.tsx"
import { DatasetView } from "./dataset/DatasetView.tsx"
import { HealthView } from "./health/HealthView.tsx"
import { nextOf } from "./parts/Choice.tsx"
import { Link } from "./parts/Link.tsx"
import { SessionView } from "./session/SessionView.tsx"
import { SessionList } from "./sessions/SessionList.tsx"
import { useMarks } from "./useMarks.ts"
import { usePlace } from "./usePlace.ts"

export const App = ({ answers }: { readonly answers: Answers }): JSX.Element => {
  const { error, value } = useAnswerOf(answers, ViewQuestion.home)
  return value === undefined ? <Waiting error={error} what="opening" /> : <Frame answers={answers} home={value} />
}

const Frame = ({ answers, home }: { readonly answers: Answers; readonly home: ViewModel.Home }): JSX.Element => {
  const [place, go] = usePlace(home)
  const [message, setMessage] = useState("")
  const [isHelpOpen, setHelpOpen] = useState(false)
  const say = useCallback((text: string) => setMessage(text), [])
  const [marks, mark] = useMarks(answers, home, say)
  const page = useMemo((): Page => ({ answers, home, go, say, marks, mark }), [answers, home, go, say, marks, mark])

  useKeys({
    "?": ["this help", () => setHelpOpen((is) => !is)],
    "g l": ["the list of sessions", () => go(Address.sessions)],
    ...(home.hasDataset ? { "g d": ["the dataset", () => go({ page: "dataset" })] as const } : {}),
    "g h": ["the health of stores and sessions", () => go({ page: "health" })]
  })

  return (
    <PageContext.Provider value={page}>
      <Header at={place.page} onHelp={() => setHelpOpen(true)} />
      <main>
        {place.page === "sessions" && <SessionList search={place.search} />}
        {place.page === "session" && <SessionView key={place.key} place={place} />}
        {place.page === "dataset" && <DatasetView />}
        {place.page === "health" && <HealthView />}
      </main>
      <p class="said" role="status" aria-live="polite">
        {message}
      </p>
      {isHelpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
    </PageContext.Provider>
  )
}

const Header = ({ at, onHelp }: { readonly at: Address.Place["page"]; readonly onHelp: () => void }): JSX.Element => {
  const { home } = usePage()
  return (
    <header class="top">
      <nav aria-label="pages">
        <strong>pi-sessions</strong>
        <Link to={Address.sessions} isHere={at === "sessions"}>
          Sessions
        </Link>
        {home.hasDataset && (
          <Link to={{ page: "dataset" }} isHere={at === "dataset"}>
            Dataset
          </Link>
        )}
        <Link to={{ page: "health" }} isHere={at === "health"}>
          Health
        </Link>
      </nav>
      <span class={home.isRedacted ? "badge" : "badge warn"}>{home.isRedacted ? "redacted" : "not redacted"}</span>
      <Theme />
      <button type="button" onClick={onHelp} aria-label="keys">
        ?
      </button>
    </header>
  )
}

const THEMES = ["auto", "light", "dark"] as const

/** Colours until the page is closed. Default: the system's. */
const Theme = (): JSX.Element => {
  const [theme, setTheme] = useState<(typeof THEMES)[number]>("auto")
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme
  }, [theme])
  const next = nextOf(THEMES, theme)
  return (
    <button type="button" onClick={() => setTheme(next)} aria-label={`colours: ${theme}; change to ${next}`}>
      {theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}
    </button>
  )
}
