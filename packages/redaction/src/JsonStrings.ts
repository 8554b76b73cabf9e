/**
 * Rewrites the strings of JSON text and leaves everything else as it is written: numbers, spaces, escapes, members of one
 * name. The text must be JSON.
 */
import { TakenNames } from "./internal/takenNames.ts"

export interface StringVisitor {
  /** The new name of a key; `before` are the new names of the members before it. */
  readonly key: (name: string, before: TakenNames) => string
  /**
   * The new value of a string that stands under `key` (empty in an array), beside `siblings`: the object's string members.
   * Undefined takes the member away.
   */
  readonly value: (value: string, key: string, siblings: ReadonlyMap<string, string>) => string | undefined
}

interface StringToken {
  readonly start: number
  readonly end: number
  readonly value: string
}

interface Member {
  readonly key: StringToken
  /** Of the comma before it; -1 for the first one. */
  readonly comma: number
  /** Where it is a string. */
  value?: StringToken
}

/** An object that has not ended yet; an array has no members. */
interface Frame {
  readonly members: Array<Member> | undefined
  comma: number
  /** Whether the next string is a key. */
  isKeyNext: boolean
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

const NOBODY: ReadonlyMap<string, string> = new Map()

/** The text itself where nothing changes. */
export const rewrite = (json: string, visitor: StringVisitor): string => {
  const edits: Array<Edit> = []
  const frames: Array<Frame> = []
  for (let at = 0; at < json.length; at++) {
    const frame = frames.at(-1)
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const token = stringAt(json, at)
        at = token.end - 1
        if (frame?.members === undefined) replaceValue(token, visitor.value(token.value, "", NOBODY), edits)
        else if (frame.isKeyNext) {
          frame.members.push({ key: token, comma: frame.comma })
          frame.isKeyNext = false
        } else {
          const member = frame.members.at(-1)
          if (member !== undefined) member.value = token
        }
        break
      }
      case COMMA:
        if (frame !== undefined) {
          frame.comma = at
          frame.isKeyNext = true
        }
        break
      case 0x7b:
        frames.push({ members: [], comma: -1, isKeyNext: true })
        break
      case 0x5b:
        frames.push({ members: undefined, comma: -1, isKeyNext: false })
        break
      case 0x7d:
        if (frame?.members !== undefined) visitObject(frame.members, visitor, edits)
        frames.pop()
        break
      case 0x5d:
        frames.pop()
    }
  }
  return edited(json, edits)
}

const stringAt = (json: string, start: number): StringToken => {
  let close = json.indexOf('"', start + 1)
  let hasEscape = false
  while (close >= 0 && isEscaped(json, close)) {
    hasEscape = true
    close = json.indexOf('"', close + 1)
  }
  const end = close < 0 ? json.length : close + 1
  const raw = json.slice(start + 1, end - 1)
  const value: string = hasEscape || raw.includes("\\") ? JSON.parse(json.slice(start, end)) : raw
  return { start, end, value }
}

const isEscaped = (json: string, at: number): boolean => {
  let before = at
  while (json.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

const replaceValue = (token: StringToken, value: string | undefined, edits: Array<Edit>): void => {
  if (value === token.value) return
  const { end, start } = token
  edits.push({ start, end, text: value === undefined ? "null" : JSON.stringify(value) })
}

/** An object is looked at when it ends, so that all its members are known. */
const visitObject = (members: ReadonlyArray<Member>, visitor: StringVisitor, edits: Array<Edit>): void => {
  const siblings = new Map<string, string>()
  for (const { key, value } of members) if (value !== undefined) siblings.set(key.value, value.value)
  const names = new TakenNames()
  let kept = 0
  for (const [at, { comma, key, value }] of members.entries()) {
    const rewritten = value === undefined ? undefined : visitor.value(value.value, key.value, siblings)
    if (value !== undefined && rewritten === undefined) {
      // The comma goes with it: that before it, or that behind it where nothing was kept before.
      const next = members[at + 1]?.key.start ?? value.end
      edits.push(kept > 0 ? { start: comma, end: value.end, text: "" } : { start: key.start, end: next, text: "" })
      continue
    }
    kept++
    const name = visitor.key(key.value, names)
    names.add(name)
    if (name !== key.value) edits.push({ start: key.start, end: key.end, text: JSON.stringify(name) })
    if (value !== undefined) replaceValue(value, rewritten, edits)
  }
}

const edited = (json: string, edits: Array<Edit>): string => {
  if (edits.length === 0) return json
  edits.sort((a, b) => a.start - b.start)
  const parts: Array<string> = []
  let from = 0
  for (const { end, start, text } of edits) {
    parts.push(json.slice(from, start), text)
    from = end
  }
  parts.push(json.slice(from))
  return parts.join("")
}
