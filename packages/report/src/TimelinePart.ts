/** Parts of a timeline's items. `depth` is the lowest depth at which a part appears. */
import { type JsonObject } from "@pi-sessions/core/Json"
import { type Depth } from "./TimelineDepth.ts"

export type TimelinePart =
  /** Facts of the header. */
  | {
      readonly part: "facts"
      readonly depth: Depth
      readonly facts: ReadonlyArray<readonly [name: string, value: string]>
    }
  | { readonly part: "text"; readonly depth: Depth; readonly text: string }
  /** Redacted thinking has no readable text. */
  | { readonly part: "thinking"; readonly depth: Depth; readonly text: string; readonly redacted: boolean }
  | {
      readonly part: "tool_call"
      readonly depth: Depth
      /** May be empty. */
      readonly callId: string
      readonly name: string
      /** The command or path, else the arguments as JSON; one line. */
      readonly line: string
      /** Only at depth `full`. */
      readonly arguments?: JsonObject
    }
  /** Output of a tool or a command. */
  | {
      readonly part: "output"
      readonly depth: Depth
      /** Absent for commands of the user. */
      readonly callId?: string
      /** The first line that is not blank. */
      readonly line: string
      /** Number of lines after it. */
      readonly moreLines: number
      /** The whole output; only at depth `full`. */
      readonly text?: string
    }
  /** Without the picture's data. */
  | { readonly part: "image"; readonly depth: Depth; readonly mimeType: string; readonly sizeBytes: number }
  /** Any other value, as JSON: details, state, blocks of unknown types. */
  | { readonly part: "data"; readonly depth: Depth; readonly name: string; readonly json: string }

/** The part without what appears only at depth `full`. */
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
