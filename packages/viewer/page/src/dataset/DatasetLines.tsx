/** The lines of a dataset's files, one at a time. */
import { type JSX } from "preact"
import { useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { Waiting, useAnswer } from "../answers/Loaded.tsx"
import { Choice, named } from "../parts/Choice.tsx"
import { Text } from "../parts/Text.tsx"

export const DatasetLines = ({ files }: { readonly files: ReadonlyArray<string> }): JSX.Element => {
  const [file, setFile] = useState(files[0] ?? "")
  const [from, setFrom] = useState(0)
  const { error, value } = useAnswer(ViewQuestion.line(file, from))
  const isLast = value === undefined || from + 1 >= value.total
  return (
    <section aria-label="samples">
      <div class="bar">
        <Choice
          label="file"
          value={file}
          options={named(files)}
          onChange={(name) => {
            setFile(name)
            setFrom(0)
          }}
        />
        <button type="button" disabled={from === 0} onClick={() => setFrom(from - 1)}>
          before
        </button>
        <button type="button" disabled={isLast} onClick={() => setFrom(from + 1)}>
          next
        </button>
        <span class="quiet">
          line {from + 1} of {value?.total ?? "…"}
        </span>
      </div>
      {value === undefined ? (
        <Waiting error={error} what="reading" />
      ) : (
        <pre class="sample-line" tabIndex={0} aria-label={`line ${from + 1}`}>
          <Text value={pretty(value.lines[0])} />
        </pre>
      )}
    </section>
  )
}

const pretty = (line: ViewModel.SampleLines["lines"][number] | undefined): string => {
  if (line === undefined) return "no such line"
  if (line.more !== undefined) return `${line.json} … ${line.more} more characters`
  try {
    return JSON.stringify(JSON.parse(line.json), undefined, 1)
  } catch {
    return line.json
  }
}
