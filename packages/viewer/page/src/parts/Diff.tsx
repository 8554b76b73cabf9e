/** Diffs in the format of Pi's edit tool. */
import { type JSX } from "preact"
import { harmless } from "@pi-sessions/report/TerminalText"

/** A diff, with added and removed lines coloured. */
export const Diff = ({ value }: { readonly value: string }): JSX.Element => (
  <pre class="diff">
    {harmless(value)
      .split("\n")
      .map((line, at) => (
        <span key={at} class={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : ""}>
          <bdi>{line}</bdi>
          {"\n"}
        </span>
      ))}
  </pre>
)
