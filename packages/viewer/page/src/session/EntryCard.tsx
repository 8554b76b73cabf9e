/** An entry of a conversation. Thinking and outputs of tools are closed at first. */
import { type JSX } from "preact"
import { counted } from "@pi-sessions/report/Counted"
import { markKey } from "../../../src/MarkKey.ts"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { usePage } from "../Page.tsx"
import { Problem } from "../parts/Facts.tsx"
import { MarkButtons } from "../parts/MarkButtons.tsx"
import { LongList } from "../parts/Pieces.tsx"
import { Text, timeOf } from "../parts/Text.tsx"
import { EntryPart } from "./EntryPart.tsx"
import { kindNames } from "./kindNames.ts"

/** Other branches listed. */
const BRANCHES = 12

interface Props {
  readonly sessionKey: string
  readonly sessionId: string
  readonly row: ViewModel.EntryRow
  readonly isOpen: boolean
  readonly isSelected: boolean
  /** Place on the branch from 0, and the number of places. */
  readonly place: number
  readonly of: number
  readonly onToggle: () => void
  readonly onSelect: () => void
  /** Fetches what was omitted. */
  readonly onWhole: () => void
  /** Goes to the branch of an entry. */
  readonly onBranch: (entry: number) => void
  /** The next entry on the shown branch. */
  readonly next: number | undefined
}

export const EntryCard = (props: Props): JSX.Element => {
  const { marks } = usePage()
  const { isOpen, isSelected, onWhole, row, sessionId, sessionKey } = props
  const mark = row.id === null ? undefined : marks[markKey(sessionId, row.id)]
  return (
    <article
      id={`entry-${row.entry}`}
      class={`entry ${row.kind} ${isSelected ? "selected" : ""} ${row.failed ? "failed" : ""} ${mark ?? ""}`}
      aria-posinset={props.place + 1}
      aria-setsize={props.of}
      aria-label={`${kindNames[row.kind]} ${row.id ?? ""}`}
      data-entry={row.entry}
      onClick={props.onSelect}
    >
      <Head {...props} />
      {row.damage.map((message) => (
        <Problem key={message} text={message} />
      ))}
      <LongList items={row.parts} what="part">
        {(part, at) => (
          <EntryPart
            key={at}
            part={part}
            isOpen={isOpen}
            isCommand={row.kind === "bash"}
            onWhole={onWhole}
            picture={{ sessionKey, entry: row.entry }}
          />
        )}
      </LongList>
      {row.moreParts !== undefined && (
        <button type="button" class="more" onClick={onWhole}>
          {counted(row.moreParts, "more part")}
        </button>
      )}
      <OtherBranches entries={(row.children ?? []).filter((child) => child !== props.next)} onBranch={props.onBranch} />
    </article>
  )
}

const Head = ({ isOpen, onToggle, row, sessionId }: Props): JSX.Element => (
  <header>
    <strong>{kindNames[row.kind]}</strong>
    {row.about !== "" && (
      <span class="about">
        <Text value={row.about} />
      </span>
    )}
    {row.label !== undefined && (
      <span class="label">
        <Text value={row.label} />
      </span>
    )}
    <time>{timeOf(row.time)}</time>
    <code class="id">
      <Text value={row.id ?? `line ${row.line}`} />
    </code>
    {row.parts.some(isClosable) && (
      <button type="button" aria-expanded={isOpen} onClick={onToggle} aria-label={`all of ${row.id ?? "the entry"}`}>
        {isOpen ? "−" : "+"}
      </button>
    )}
    {row.id !== null && <MarkButtons session={sessionId} entry={row.id} what={`entry ${row.id}`} />}
  </header>
)

const isClosable = (part: ViewModel.EntryPart): boolean =>
  part.part === "thinking" ||
  part.part === "tool_call" ||
  part.part === "data" ||
  (part.part === "output" && part.moreLines > 0)

const OtherBranches = (props: {
  readonly entries: ReadonlyArray<number>
  readonly onBranch: (entry: number) => void
}): JSX.Element | null => {
  const { entries, onBranch } = props
  if (entries.length === 0) return null
  return (
    <p class="branches">
      {counted(entries.length, "other branch", "other branches")}{" "}
      {entries.slice(0, BRANCHES).map((entry) => (
        <button
          key={entry}
          type="button"
          onClick={() => onBranch(entry)}
          aria-label={`to the branch of entry ${entry}`}
        >
          ↳ {entry}
        </button>
      ))}
    </p>
  )
}
