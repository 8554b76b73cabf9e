/**
 * Rewrites the strings of JSON text and keeps everything else byte for byte: numbers, spaces, escapes and duplicate keys.
 * The text must be valid JSON.
 */
import { type TextEdit } from "@pi-sessions/core/SessionOutline"
import { TakenNames } from "./internal/takenNames.ts"
import { edited } from "./internal/textEdits.ts"

export interface StringVisitor {
  /** Returns the new name of a key. `before` has the new names of the members before it. */
  readonly key: (name: string, before: TakenNames) => string
  /**
   * Returns the new value of a string. `key` is empty in an array; `siblings` are the string members of the same object.
   * Undefined removes the member.
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
  /** Offset of the comma before it; -1 for the first member. */
  readonly comma: number
  /** Only of a string member. */
  value?: StringToken
}

/** An object or array that is still open. */
interface Frame {
  /** Undefined for an array. */
  readonly members: Array<Member> | undefined
  comma: number
  /** Whether the next string is a key. */
  isKeyNext: boolean
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

const NO_SIBLINGS: ReadonlyMap<string, string> = new Map()

/** Returns the rewritten text; the same string if nothing changes. */
export const rewrite = (json: string, visitor: StringVisitor): string => {
  const edits: Array<TextEdit> = []
  const frames: Array<Frame> = []
  for (let at = 0; at < json.length; at++) {
    const frame = frames.at(-1)
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const token = stringAt(json, at)
        at = token.end - 1
        if (frame?.members === undefined) replaceValue(token, visitor.value(token.value, "", NO_SIBLINGS), edits)
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
  return edited(
    json,
    edits.sort((a, b) => a.start - b.start)
  )
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

const replaceValue = (token: StringToken, value: string | undefined, edits: Array<TextEdit>): void => {
  if (value === token.value) return
  const { end, start } = token
  edits.push({ start, end, by: value === undefined ? "null" : JSON.stringify(value) })
}

/** Runs when an object ends, because the visitor needs all its string members. */
const visitObject = (members: ReadonlyArray<Member>, visitor: StringVisitor, edits: Array<TextEdit>): void => {
  const siblings = new Map<string, string>()
  for (const { key, value } of members) if (value !== undefined) siblings.set(key.value, value.value)
  const names = new TakenNames()
  let kept = 0
  for (const [at, { comma, key, value }] of members.entries()) {
    const rewritten = value === undefined ? undefined : visitor.value(value.value, key.value, siblings)
    if (value !== undefined && rewritten === undefined) {
      // Removes the comma before the member, or the one after it if no earlier member is left.
      const next = members[at + 1]?.key.start ?? value.end
      edits.push(kept > 0 ? { start: comma, end: value.end, by: "" } : { start: key.start, end: next, by: "" })
      continue
    }
    kept++
    const name = visitor.key(key.value, names)
    names.add(name)
    if (name !== key.value) edits.push({ start: key.start, end: key.end, by: JSON.stringify(name) })
    if (value !== undefined) replaceValue(value, rewritten, edits)
  }
}
