/** What a tool was called for, on one line. */
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { firstLine } from "./firstLine.ts"
import { shownJson } from "../ShownJson.ts"

/** Arguments that say most of a call, in the order in which they are named. */
const TELLING = ["command", "pattern", "query", "url", "path", "file_path"]

export const toolCallLine = (given: JsonObject): string => {
  const telling = TELLING.flatMap((key) => stringAt(given, key) ?? [])
  if (telling.length === 0) return Object.keys(given).length === 0 ? "" : shownJson(given)
  return telling
    .map((value) => {
      const { line, moreLines } = firstLine(value)
      return moreLines === 0 ? line : `${line} …`
    })
    .join("  ")
}
