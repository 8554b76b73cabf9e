/** Makes findings from rules. */
import { type SessionLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { rules } from "../../FindingRule.ts"
import type { Code, Finding } from "../../SessionFinding.ts"

export interface Place {
  readonly line: number
  readonly byteOffset: number
  readonly entryId?: string
}

/** The position of a line, and its entry id. */
export const placeOf = (line: SessionLine): Place => ({
  line: line.line,
  byteOffset: line.byteOffset,
  ...(line instanceof SessionEntry && line.id !== null ? { entryId: line.id } : {})
})

/** A finding by its rule; `here` replaces parts of the rule. */
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
