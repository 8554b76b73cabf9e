/** Reads the body of a POST: the id, type and JSON text of every entry. */
import * as Result from "effect/Result"
import { type Json, isObject, stringAt } from "@pi-sessions/core/Json"
import * as ThreadPage from "@pi-sessions/reconstruction/thread/ThreadPage"
import { type StoredEntry } from "./EntryStore.ts"

/** The entries of `{"entries": [...]}`, or what is wrong. Changes `body`. */
export const parse = (body: Uint8Array): Result.Result<ReadonlyArray<StoredEntry>, string> => {
  const page = ThreadPage.take(body)
  if (Result.isFailure(page)) return Result.fail(`the body is no {"entries": [...]}: ${page.failure.reason}`)
  const entries: Array<StoredEntry> = []
  for (const { start, end } of page.success.entries) {
    const entry = parseEntry(body.subarray(start, end))
    if (typeof entry === "string") return Result.fail(`entries[${entries.length}] ${entry}`)
    entries.push(entry)
  }
  return Result.succeed(entries)
}

const parseEntry = (bytes: Uint8Array): StoredEntry | string => {
  let json: string
  let value: Json
  try {
    json = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    value = JSON.parse(json)
  } catch {
    return "is no JSON in UTF-8"
  }
  if (!isObject(value)) return "is no object"
  const id = stringAt(value, "id")
  const type = stringAt(value, "type")
  if (id === undefined || id === "") return 'has no "id", a string that is not empty'
  // Ids are compared as UTF-8, which cannot encode lone surrogates.
  if (!id.isWellFormed()) return 'has an "id" that is no Unicode text'
  if (type === undefined) return 'has no "type", a string'
  return { id, type, json }
}
