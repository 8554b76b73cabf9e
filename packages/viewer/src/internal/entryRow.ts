/** Entries as the page shows them: parts, children, damage and label. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type TimelinePart } from "@pi-sessions/report/TimelinePart"
import * as EntryRanges from "../EntryRanges.ts"
import { RASTER_TYPES } from "../RasterTypes.ts"
import { MOST_AT_ONCE } from "../ViewLimits.ts"
import { type EntryPart, type EntryRow, type Picture, type Ranges } from "../ViewModel.ts"
import { describe } from "@pi-sessions/report/EntryDescription"
import { shownJson } from "@pi-sessions/report/ShownJson"
import { type ViewedEntry, indexOf, indexesOf } from "./ViewedEntry.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** Texts of a row are cut to this length in UTF-16 units, unless the whole entry is requested. */
const ROW_TEXT = 6000

export interface RowOptions {
  /** Omits nothing. Default: false. */
  readonly whole?: boolean
  /** Whether pictures are shown; they cannot be redacted. */
  readonly withPictures: boolean
}

/** The entries at these indexes; indexes without an entry are left out. */
export const entryRows = (session: ViewedSession, ranges: Ranges, options: RowOptions): ReadonlyArray<EntryRow> => {
  const indexes = [...EntryRanges.indexes(ranges)].slice(0, MOST_AT_ONCE)
  return indexes
    .flatMap((index) => session.entries[index] ?? [])
    .map((entry) =>
      entryRow(session, entry, {
        most: options.whole === true ? Number.POSITIVE_INFINITY : ROW_TEXT,
        withPictures: options.withPictures
      })
    )
}

interface CutOptions {
  /** Length to cut texts to, in UTF-16 units. */
  readonly most: number
  readonly withPictures: boolean
}

const entryRow = (session: ViewedSession, entry: ViewedEntry, options: CutOptions): EntryRow => {
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
    parent: indexOf(parent) ?? null,
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

const partsOf = (
  parts: ReadonlyArray<TimelinePart>,
  payload: JsonObject,
  { most, withPictures }: CutOptions
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
      case "tool_call":
        return [callPart(part, most)]
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

/** Parts of an entry, and arguments of a call, unless the whole entry is requested. */
const PARTS = 200

/** Length of names and other texts on one line, in UTF-16 units. */
const LINE = 500

const callPart = (call: Extract<TimelinePart, { readonly part: "tool_call" }>, most: number): EntryPart => {
  let more = 0
  const given = Object.entries(call.arguments ?? {}).flatMap(([key, value], at) => {
    const text = typeof value === "string" ? value : shownJson(value ?? null)
    const shown = cut(text, Number.isFinite(most) && at >= PARTS ? 0 : most)
    more += shown.more ?? 0
    return shown.text === "" && shown.more !== undefined ? [] : [[key.slice(0, LINE), shown.text] as const]
  })
  const [callId, name, line] = [call.callId.slice(0, LINE), call.name.slice(0, LINE), call.line.slice(0, LINE)]
  return { part: "tool_call", callId, name, line, arguments: given, ...moreOf(more) }
}

const dataPart = (name: string, json: string, most: number): EntryPart => {
  const { more, text } = cut(json, most)
  return { part: "data", name, json: text, ...moreOf(more ?? 0) }
}

const moreOf = (more: number): { readonly more?: number } => (more === 0 ? {} : { more })

const cut = (text: string, most: number): { readonly text: string; readonly more?: number } =>
  text.length <= most ? { text } : { text: text.slice(0, most), more: text.length - most }

const BASE64 = /^[A-Za-z\d+/]+={0,2}$/u

/** The picture blocks; undefined for those that are not shown. */
const picturesOf = (payload: JsonObject): ReadonlyArray<Picture | undefined> => {
  const { content } = objectAt(payload, "message") ?? payload
  const blocks: ReadonlyArray<Json> = isArray(content) ? content : []
  return blocks.flatMap((block) => {
    if (!isObject(block) || block["type"] !== "image") return []
    const mimeType = stringAt(block, "mimeType") ?? ""
    const data = stringAt(block, "data") ?? ""
    return [RASTER_TYPES.has(mimeType) && BASE64.test(data) ? { mimeType, data } : undefined]
  })
}

/** A picture of an entry by its number from 0; undefined if there is none, or it is not shown. */
export const pictureOf = (entry: ViewedEntry, number: number): Picture | undefined => picturesOf(entry.raw())[number]
