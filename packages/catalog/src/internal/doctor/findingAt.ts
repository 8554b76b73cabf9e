/** Makes findings from the rules. */
import { type SessionLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { rules } from "../../FindingRule.ts"
import type { Code, Finding } from "../../SessionFinding.ts"

export interface Place {
  readonly line: number
  readonly byteOffset: number
  readonly entryId?: string
}

/** Where a line stands, and whose it is. */
export const placeOf = (line: SessionLine): Place => ({
  line: line.line,
  byteOffset: line.byteOffset,
  ...(line instanceof SessionEntry && line.id !== null ? { entryId: line.id } : {})
})

/** A finding as its rule has it, but for what is different here. */
export const findingAt = (
  code: Code,
  place: Place,
  message: string,
  here: Partial<Pick<Finding, "severity" | "pi" | "mend">> = {}
): Finding => ({
  code,
  line: place.line,
  byteOffset: place.byteOffset,
  ...(place.entryId === undefined ? {} : { entryId: place.entryId }),
  message,
  ...rules[code],
  ...here
})
