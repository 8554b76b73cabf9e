/** One entry of a conversation: who, when, and what it holds; thinking and output of tools closed until they are wanted. */
import { type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { usePage } from "../Page.tsx"
import { Diff, Terminal, Text, counted, sizeOf, timeOf } from "../parts/Text.tsx"
import { MarkButtons } from "../parts/MarkButtons.tsx"
import { LongList, LongText } from "../parts/Pieces.tsx"

const NAMES: { readonly [Kind in ViewModel.EntryRow["kind"]]: string } = {
  session: "session",
  user: "user",
  assistant: "assistant",
  tool_result: "tool result",
  bash: "user's command",
  system: "system",
  custom_message: "extension",
  compaction: "compaction",
  branch_summary: "branch summary",
  label: "label",
  name: "name",
  model: "model",
  thinking_level: "thinking level",
  context_edit: "context edit",
  usage: "usage",
  custom: "state of an extension",
  unknown: "unknown"
}

export const nameOfKind = (kind: ViewModel.EntryRow["kind"]): string => NAMES[kind]

interface Props {
  readonly sessionKey: string
  readonly sessionId: string
  readonly row: ViewModel.EntryRow
  readonly isOpen: boolean
  readonly isSelected: boolean
  readonly place: number
  readonly of: number
  readonly onToggle: () => void
  readonly onSelect: () => void
  /** Fetches what was left out. */
  readonly onWhole: () => void
  /** Goes to the branch that an entry stands on; undefined where the branch cannot be changed. */
  readonly onBranch: ((entry: number) => void) | undefined
  /** The entry that follows on the branch that is shown. */
  readonly next: number | undefined
}

export const EntryCard = (props: Props): JSX.Element => {
  const { marks } = usePage()
  const { isOpen, isSelected, of, onSelect, onToggle, onWhole, place, row, sessionId, sessionKey } = props
  const mark = row.id === null ? undefined : marks[`${sessionId}/${row.id}`]
  const others = (row.children ?? []).filter((child) => child !== props.next)
  const isClosable = row.parts.some(isClosed)
  return (
    <article
      id={`entry-${row.entry}`}
      class={`entry ${row.kind} ${isSelected ? "selected" : ""} ${row.failed ? "failed" : ""} ${mark ?? ""}`}
      aria-posinset={place + 1}
      aria-setsize={of}
      aria-label={`${NAMES[row.kind]} ${row.id ?? ""}`}
      data-entry={row.entry}
      onClick={onSelect}
    >
      <header>
        <strong>{NAMES[row.kind]}</strong>
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
        {isClosable && (
          <button
            type="button"
            aria-expanded={isOpen}
            onClick={onToggle}
            aria-label={`all of ${row.id ?? "the entry"}`}
          >
            {isOpen ? "−" : "+"}
          </button>
        )}
        {row.id !== null && <MarkButtons session={sessionId} entry={row.id} what={`entry ${row.id}`} />}
      </header>
      {row.damage.map((message) => (
        <p key={message} class="problem">
          <Text value={message} />
        </p>
      ))}
      <LongList items={row.parts} what="part">
        {(part, at) => (
          <Part
            key={at}
            part={part}
            isOpen={isOpen}
            kind={row.kind}
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
      {others.length > 0 && props.onBranch !== undefined && (
        <p class="branches">
          {counted(others.length, "other branch", "other branches")}{" "}
          {others.slice(0, 12).map((child) => (
            <button
              key={child}
              type="button"
              onClick={() => props.onBranch?.(child)}
              aria-label={`to the branch of entry ${child}`}
            >
              ↳ {child}
            </button>
          ))}
        </p>
      )}
    </article>
  )
}

const isClosed = (part: ViewModel.EntryPart): boolean =>
  part.part === "thinking" ||
  part.part === "tool_call" ||
  part.part === "data" ||
  (part.part === "output" && part.moreLines > 0)

interface PartProps {
  readonly part: ViewModel.EntryPart
  readonly isOpen: boolean
  readonly kind: ViewModel.EntryRow["kind"]
  readonly onWhole: () => void
  readonly picture: PicturePlace
}

const terminal = (value: string): JSX.Element => <Terminal value={value} />
const diff = (value: string): JSX.Element => <Diff value={value} />

const Part = ({ isOpen, kind, onWhole, part, picture }: PartProps): JSX.Element | null => {
  switch (part.part) {
    case "text":
      return (
        <div class={`text ${kind === "bash" ? "mono" : ""}`}>
          <LongText value={part.text} draw={terminal} />
          <More part={part} onWhole={onWhole} />
        </div>
      )
    case "thinking":
      return (
        <Closed name={part.redacted ? "thinking, encrypted" : "thinking"} isOpen={isOpen} hint={firstLine(part.text)}>
          <div class="text thought">
            <LongText value={part.text} />
            <More part={part} onWhole={onWhole} />
          </div>
        </Closed>
      )
    case "tool_call":
      return (
        <Closed name={part.name} isOpen={isOpen} hint={part.line} isCall>
          <LongList items={part.arguments} what="argument">
            {([name, value]) => (
              <div key={name} class="argument">
                <span class="quiet">
                  <Text value={name} />
                </span>
                <pre>
                  <LongText value={value} draw={terminal} />
                </pre>
              </div>
            )}
          </LongList>
          <More part={part} onWhole={onWhole} />
        </Closed>
      )
    case "output":
      return part.moreLines === 0 && part.more === undefined ? (
        <pre class="output">
          <LongText value={part.text} draw={terminal} />
        </pre>
      ) : (
        <Closed name={counted(part.moreLines + 1, "line")} isOpen={isOpen} hint={part.line}>
          <pre class="output">
            <LongText value={part.text} draw={terminal} />
          </pre>
          <More part={part} onWhole={onWhole} />
        </Closed>
      )
    case "diff":
      return (
        <>
          <LongText value={part.text} draw={diff} />
          <More part={part} onWhole={onWhole} />
        </>
      )
    case "image":
      return <Picture {...picture} part={part} />
    case "data":
      return (
        <Closed name={part.name} isOpen={isOpen} hint={part.json}>
          <pre>
            <LongText value={part.json} />
          </pre>
          <More part={part} onWhole={onWhole} />
        </Closed>
      )
  }
}

const firstLine = (text: string): string => text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? ""

/** Something that is closed until it, or its entry, is opened. */
const Closed = (props: {
  readonly name: string
  readonly hint: string
  readonly isOpen: boolean
  readonly isCall?: boolean
  readonly children: JSX.Element | ReadonlyArray<JSX.Element | ReadonlyArray<JSX.Element>>
}): JSX.Element => {
  const { children, hint, isCall = false, isOpen, name } = props
  const [own, setOwn] = useState<boolean | undefined>(undefined)
  useEffect(() => setOwn(undefined), [isOpen])
  const isShown = own ?? isOpen
  return (
    <div class={`closed ${isCall ? "call" : ""}`}>
      <button type="button" class="opener" aria-expanded={isShown} onClick={() => setOwn(!isShown)}>
        <span aria-hidden="true">{isShown ? "▾" : "▸"}</span>{" "}
        <b>
          <Text value={name} />
        </b>{" "}
        <span class="hint">
          <Terminal value={hint.slice(0, 300)} />
        </span>
      </button>
      {isShown && <div class="inside">{children}</div>}
    </div>
  )
}

const More = (props: {
  readonly part: { readonly more?: number }
  readonly onWhole: () => void
}): JSX.Element | null => {
  const { more } = props.part
  return more === undefined ? null : (
    <button type="button" class="more" onClick={props.onWhole}>
      {more.toLocaleString("en-US")} more characters
    </button>
  )
}

interface PicturePlace {
  readonly sessionKey: string
  readonly entry: number
}

/** Fetched by themselves up to this size. */
const AT_ONCE_BYTES = 1 << 20
/** What a browser draws and cannot run; the server tells no others. */
const RASTER = /^image\/(?:png|jpeg|gif|webp)$/u

const Picture = (
  props: PicturePlace & { readonly part: Extract<ViewModel.EntryPart, { readonly part: "image" }> }
): JSX.Element => {
  const { answers } = usePage()
  const { entry, part, sessionKey } = props
  const { mimeType, picture, sizeBytes } = part
  const [isWanted, setWanted] = useState(sizeBytes <= AT_ONCE_BYTES)
  const [shown, setShown] = useState<ViewModel.Picture | "none" | undefined>(undefined)
  const [isLarge, setLarge] = useState(false)
  useEffect(() => {
    if (!isWanted || picture === null) return
    answers
      .get<ViewModel.Picture>(`sessions/${sessionKey}/picture?entry=${entry}&picture=${picture}`)
      .then(setShown, () => setShown("none"))
  }, [isWanted, sessionKey, entry, picture])
  const what = `picture, ${mimeType === "" ? "of no type" : mimeType}, ${sizeOf(sizeBytes)}`
  if (picture === null || shown === "none" || (shown !== undefined && !RASTER.test(shown.mimeType))) {
    return (
      <p class="quiet">
        <Text value={`${what}; not shown`} />
      </p>
    )
  }
  if (shown === undefined) {
    return (
      <button type="button" onClick={() => setWanted(true)}>
        <Text value={what} />
      </button>
    )
  }
  return (
    <button
      type="button"
      class={`picture ${isLarge ? "large" : ""}`}
      onClick={() => setLarge(!isLarge)}
      aria-label={what}
    >
      <img src={`data:${shown.mimeType};base64,${shown.data}`} alt="" />
    </button>
  )
}
