/** The view of one session: conversation with tree, samples, or health. */
import { type JSX } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { FILTER_NAMES } from "@pi-sessions/report/EntryFilterName"
import { counted } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { markKeys, useKeys } from "../Keys.tsx"
import { usePage } from "../Page.tsx"
import { Loaded } from "../answers/Loaded.tsx"
import { SessionHealthView } from "../health/SessionHealthView.tsx"
import { nextOf } from "../parts/Choice.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Found } from "../parts/Found.tsx"
import { MarkButtons } from "../parts/MarkButtons.tsx"
import { Text } from "../parts/Text.tsx"
import { SamplesView } from "../samples/SamplesView.tsx"
import { Conversation } from "./Conversation.tsx"
import { SessionBar } from "./SessionBar.tsx"
import { TreePane } from "./TreePane.tsx"
import { type BranchPlace, type SessionPlace, useBranches } from "./useBranches.ts"

export const SessionView = ({ place }: { readonly place: SessionPlace }): JSX.Element => (
  <Loaded question={ViewQuestion.session(place.key)} what="reading the session">
    {(session) => <Opened session={session} place={place} />}
  </Loaded>
)

const Opened = (props: { readonly session: ViewModel.SessionPage; readonly place: SessionPlace }): JSX.Element => {
  const { mark } = usePage()
  const { place, session } = props
  const branches = useBranches(session, place)
  const [filter, setFilter] = useState<ViewModel.EntryFilter>("default")
  const [isTreeOpen, setTreeOpen] = useState(() => matchMedia("(min-width: 800px)").matches)
  const [search, setSearch] = useState("")
  const field = useRef<HTMLInputElement>(null)
  const toggleTree = (): void => setTreeOpen((is) => !is)
  // A URL with an entry and without a branch means the branch of the entry.
  useEffect(() => {
    if (place.at !== undefined && place.leaf === undefined) void branches.goTo(place.at)
  }, [])

  useKeys({
    "[": ["the branch before", () => branches.step(-1)],
    "]": ["the next branch", () => branches.step(1)],
    f: ["the next of Pi's filters", () => setFilter((now) => nextOf(FILTER_NAMES, now))],
    "/": ["search this session", () => field.current?.focus()],
    1: ["conversation", () => branches.show({ view: "talk" })],
    2: ["samples", () => branches.show({ view: "samples" })],
    3: ["health", () => branches.show({ view: "health" })],
    b: ["show or hide the tree", toggleTree],
    ...markKeys(["A", "X"], "session", mark && ((wanted) => mark(session.id, undefined, wanted)))
  })

  return (
    <section class="session-view" aria-label="session">
      <Head session={session} />
      <SessionBar
        session={session}
        place={place}
        branches={branches}
        field={field}
        filter={filter}
        isTreeOpen={isTreeOpen}
        onFilter={setFilter}
        onTree={toggleTree}
        onSearch={setSearch}
      />
      {search !== "" && (
        <Found
          text={search}
          sessionKey={session.key}
          onGo={branches.goTo}
          close={
            <button type="button" onClick={() => setSearch("")}>
              close
            </button>
          }
        />
      )}
      {place.view === "talk" && (
        <Panes session={session} at={place.at} branches={branches} filter={filter} isTreeOpen={isTreeOpen} />
      )}
      {place.view === "samples" && <SamplesView session={session} onEntry={(entry) => void branches.goTo(entry)} />}
      {place.view === "health" && <SessionHealthView sessionKey={session.key} />}
    </section>
  )
}

const Head = ({ session }: { readonly session: ViewModel.SessionPage }): JSX.Element => (
  <div class="bar head">
    <h1>
      <Text value={session.title === "" ? session.id : session.title} />
    </h1>
    <MarkButtons session={session.id} what="the session" />
    <details class="about-session">
      <summary>{counted(session.entries, "entry", "entries")}</summary>
      <Facts facts={session.facts} />
    </details>
  </div>
)

/** Tree and conversation. */
const Panes = (props: {
  readonly session: ViewModel.SessionPage
  readonly at: number | undefined
  readonly branches: BranchPlace
  readonly filter: ViewModel.EntryFilter
  readonly isTreeOpen: boolean
}): JSX.Element => {
  const { at, branches, filter, isTreeOpen, session } = props
  const { leaf } = branches
  const [isReady, setReady] = useState(false)
  return (
    <div class={`panes ${isTreeOpen ? "" : "one"}`}>
      {isTreeOpen && (
        <TreePane
          sessionKey={session.key}
          filter={filter}
          isReady={isReady || leaf === undefined}
          at={at}
          onChoose={(row) => void branches.goTo(row.entry)}
        />
      )}
      {leaf === undefined ? (
        <p class="quiet">no entries</p>
      ) : (
        <Conversation
          session={session}
          leaf={leaf}
          filter={filter}
          at={at}
          onAt={(entry) => branches.show({ at: entry, leaf: leaf === session.leaf ? undefined : leaf }, true)}
          onBranch={(entry) => void branches.goTo(entry)}
          onReady={() => setReady(true)}
        />
      )}
    </div>
  )
}
