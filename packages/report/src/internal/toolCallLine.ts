/** A tool call on one line: its most informative arguments, else all of them as JSON. */
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { firstLine } from "./firstLine.ts"
import { shownJson } from "../ShownJson.ts"

/** The most informative arguments, in this order. */
const INFORMATIVE = ["command", "pattern", "query", "url", "path", "file_path"]

export const toolCallLine = (given: JsonObject): string => {
  const values = INFORMATIVE.flatMap((key) => stringAt(given, key) ?? [])
  if (values.length === 0) return Object.keys(given).length === 0 ? "" : shownJson(given)
  return values
    .map((value) => {
      const { line, moreLines } = firstLine(value)
      return moreLines === 0 ? line : `${line} …`
    })
    .join("  ")
}
