/** An entry as the page shows it. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type TimelinePart } from "@pi-sessions/report/TimelinePart"
import { type EntryPart, type EntryRow, type Picture } from "../ViewModel.ts"
import { describe } from "@pi-sessions/report/EntryDescription"
import { shownJson } from "@pi-sessions/report/ShownJson"
import { ViewedEntry } from "./ViewedEntry.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** Pictures that a browser draws and nothing in which can run. */
const RASTER: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])

export interface RowOptions {
  /** Texts are cut to so many UTF-16 units; the page asks for the whole entry where somebody wants to see it. */
  readonly most: number
  /** Whether pictures can be seen; nobody can take a secret out of one. */
  readonly withPictures: boolean
}

export const entryRow = (session: ViewedSession, entry: ViewedEntry, options: RowOptions): EntryRow => {
  const { tree } = session
  const payload = entry.decode()
  const { about, failed, kind, parts, time } = describe(entry, payload)
  const children = entry.id === null ? [] : indexesOf(tree.children(entry.id))
  const parent = entry.parentId === null ? undefined : tree.getEntry(entry.parentId)
  const label = entry.id === null ? undefined : tree.label(entry.id)
  const shown = partsOf(parts, payload, options)
  const mostParts = Number.isFinite(options.most) ? PARTS : shown.length
  return {
    entry: entry.index,
    id: entry.id,
    parent: parent instanceof ViewedEntry ? parent.index : null,
    ...(children.length > 1 ? { children } : {}),
    kind,
    type: entry.type,
    line: entry.line,
    ...(time === undefined ? {} : { time }),
    about: about.slice(0, LINE),
    failed,
    ...(label === undefined ? {} : { label: label.slice(0, LINE) }),
    damage: (session.damageByLine.get(entry.line) ?? []).map(({ code, message }) =>
      `${code}: ${session.text(message)}`.slice(0, LINE)
    ),
    parts: shown.slice(0, mostParts),
    ...(shown.length > mostParts ? { moreParts: shown.length - mostParts } : {})
  }
}

export const indexesOf = (entries: ReadonlyArray<object>): ReadonlyArray<number> =>
  entries.flatMap((entry) => (entry instanceof ViewedEntry ? [entry.index] : []))

const partsOf = (
  parts: ReadonlyArray<TimelinePart>,
  payload: JsonObject,
  { most, withPictures }: RowOptions
): ReadonlyArray<EntryPart> => {
  const details = objectAt(objectAt(payload, "message") ?? {}, "details")
  const diff = details === undefined ? undefined : stringAt(details, "diff")
  const pictures = withPictures ? picturesOf(payload) : []
  let picture = 0
  return parts.flatMap((part): ReadonlyArray<EntryPart> => {
    switch (part.part) {
      case "text":
        return [{ part: "text", ...cut(part.text, most) }]
      case "thinking":
        return [{ part: "thinking", redacted: part.redacted, ...cut(part.text, most) }]
      case "tool_call": {
        const { callId, line, name } = part
        let more = 0
        const given = Object.entries(part.arguments ?? {}).flatMap(([key, value], at) => {
          const text = typeof value === "string" ? value : shownJson(value ?? null)
          const shown = cut(text, Number.isFinite(most) && at >= PARTS ? 0 : most)
          more += shown.more ?? 0
          return shown.text === "" && shown.more !== undefined ? [] : [[key.slice(0, LINE), shown.text] as const]
        })
        const named = { callId: callId.slice(0, LINE), name: name.slice(0, LINE) }
        return [{ part: "tool_call", ...named, line: line.slice(0, LINE), arguments: given, ...moreOf(more) }]
      }
      case "output":
        return [
          { part: "output", line: part.line.slice(0, LINE), moreLines: part.moreLines, ...cut(part.text ?? "", most) }
        ]
      case "image": {
        const { sizeBytes } = part
        const mimeType = part.mimeType.slice(0, LINE)
        const number = picture++
        return [{ part: "image", mimeType, sizeBytes, picture: pictures[number] === undefined ? null : number }]
      }
      case "data": {
        if (part.name !== "details" || diff === undefined || details === undefined)
          return [dataPart(part.name, part.json, most)]
        const { diff: _, ...others } = details
        const rest = Object.keys(others).length === 0 ? [] : [dataPart("details", shownJson(others), most)]
        return [{ part: "diff", ...cut(diff, most) }, ...rest]
      }
      case "facts":
        return []
    }
  })
}

/** So many parts of an entry, or arguments of a call, are told before somebody asks for all. */
const PARTS = 200

/** What stands on one line, where there may be no line break in a megabyte. */
const LINE = 500

const dataPart = (name: string, json: string, most: number): EntryPart => {
  const { more, text } = cut(json, most)
  return { part: "data", name, json: text, ...moreOf(more ?? 0) }
}

const moreOf = (more: number): { readonly more?: number } => (more === 0 ? {} : { more })

const cut = (text: string, most: number): { readonly text: string; readonly more?: number } =>
  text.length <= most ? { text } : { text: text.slice(0, most), more: text.length - most }

const BASE64 = /^[A-Za-z\d+/]+={0,2}$/u

/** The blocks that say they are pictures, each with its data where it is one that may be shown. */
const picturesOf = (payload: JsonObject): ReadonlyArray<Picture | undefined> => {
  const { content } = objectAt(payload, "message") ?? payload
  const blocks: ReadonlyArray<Json> = isArray(content) ? content : []
  return blocks.flatMap((block) => {
    if (!isObject(block) || block["type"] !== "image") return []
    const mimeType = stringAt(block, "mimeType") ?? ""
    const data = stringAt(block, "data") ?? ""
    return [RASTER.has(mimeType) && BASE64.test(data) ? { mimeType, data } : undefined]
  })
}

/** An entry's picture, where it is one that may be shown. */
export const pictureOf = (entry: ViewedEntry, number: number): Picture | undefined => picturesOf(entry.raw())[number]
