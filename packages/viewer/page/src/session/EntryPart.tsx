/** A part of an entry. */
import { type JSX } from "preact"
import { counted, numberText } from "@pi-sessions/report/Counted"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { Closed } from "../parts/Closed.tsx"
import { Diff } from "../parts/Diff.tsx"
import { LongList, LongText } from "../parts/Pieces.tsx"
import { Terminal } from "../parts/Terminal.tsx"
import { Text } from "../parts/Text.tsx"
import { Picture, type PicturePlace } from "./Picture.tsx"

interface Props {
  readonly part: ViewModel.EntryPart
  readonly isOpen: boolean
  /** Whether the entry is a command of the user; its text is shown in a fixed-width font. */
  readonly isCommand: boolean
  readonly onWhole: () => void
  readonly picture: PicturePlace
}

const terminal = (value: string): JSX.Element => <Terminal value={value} />
const diff = (value: string): JSX.Element => <Diff value={value} />

export const EntryPart = ({ isCommand, isOpen, onWhole, part, picture }: Props): JSX.Element => {
  switch (part.part) {
    case "text":
      return (
        <div class={`text ${isCommand ? "mono" : ""}`}>
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
            {([name, value]) => <Argument key={name} name={name} value={value} />}
          </LongList>
          <More part={part} onWhole={onWhole} />
        </Closed>
      )
    case "output":
      return <Output part={part} isOpen={isOpen} onWhole={onWhole} />
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

const Argument = ({ name, value }: { readonly name: string; readonly value: string }): JSX.Element => (
  <div class="argument">
    <span class="quiet">
      <Text value={name} />
    </span>
    <pre>
      <LongText value={value} draw={terminal} />
    </pre>
  </div>
)

/** Output of one line is always open. */
const Output = (props: {
  readonly part: Extract<ViewModel.EntryPart, { readonly part: "output" }>
  readonly isOpen: boolean
  readonly onWhole: () => void
}): JSX.Element => {
  const { isOpen, onWhole, part } = props
  const text = (
    <pre class="output">
      <LongText value={part.text} draw={terminal} />
    </pre>
  )
  if (part.moreLines === 0 && part.more === undefined) return text
  return (
    <Closed name={counted(part.moreLines + 1, "line")} isOpen={isOpen} hint={part.line}>
      {text}
      <More part={part} onWhole={onWhole} />
    </Closed>
  )
}

/** A button that fetches what the server omitted. */
const More = (props: {
  readonly part: { readonly more?: number }
  readonly onWhole: () => void
}): JSX.Element | null => {
  const { more } = props.part
  return more === undefined ? null : (
    <button type="button" class="more" onClick={props.onWhole}>
      {numberText(more)} more characters
    </button>
  )
}
