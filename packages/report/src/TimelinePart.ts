/** What the items of a timeline are made of, each part with the depth from which on it is shown. */
import { type JsonObject } from "@pi-sessions/core/Json"
import { type Depth } from "./TimelineDepth.ts"

export type TimelinePart =
  /** What the header says. */
  | {
      readonly part: "facts"
      readonly depth: Depth
      readonly facts: ReadonlyArray<readonly [name: string, value: string]>
    }
  /** Something said or written. */
  | { readonly part: "text"; readonly depth: Depth; readonly text: string }
  /** Redacted thinking has no text that could be read. */
  | { readonly part: "thinking"; readonly depth: Depth; readonly text: string; readonly redacted: boolean }
  | {
      readonly part: "tool_call"
      readonly depth: Depth
      /** May be empty. */
      readonly callId: string
      readonly name: string
      /** What is called for, on one line: the command, the path, else the arguments as JSON. */
      readonly line: string
      /** Only in full. */
      readonly arguments?: JsonObject
    }
  /** What a tool or a command gave back. */
  | {
      readonly part: "output"
      readonly depth: Depth
      /** Of the call that it answers; absent for commands of the user. */
      readonly callId?: string
      /** The first line that is not blank. */
      readonly line: string
      /** How many lines there are after it. */
      readonly moreLines: number
      /** Only in full: all of it. */
      readonly text?: string
    }
  /** The picture itself is in the entry. */
  | { readonly part: "image"; readonly depth: Depth; readonly mimeType: string; readonly sizeBytes: number }
  /** Something without a form of its own, as JSON: details, state, blocks of unknown types. */
  | { readonly part: "data"; readonly depth: Depth; readonly name: string; readonly json: string }

/** The part as it is shown above full depth. */
export const shallow = (part: TimelinePart): TimelinePart => {
  if (part.part === "tool_call") {
    const { arguments: _, ...rest } = part
    return rest
  }
  if (part.part === "output") {
    const { text: _, ...rest } = part
    return rest
  }
  return part
}
