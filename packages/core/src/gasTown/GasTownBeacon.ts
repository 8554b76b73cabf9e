/**
 * Reads Gas Town roles from texts: the startup beacon that a launcher writes before a session's first prompt, and the
 * context that `gt prime` adds. Only the first line of a text counts: mails, tool results and users quote beacons later.
 *
 * Sources: gastown `internal/session/startup.go` (beacon), `internal/cmd/prime_session.go` (`role:` line),
 * `internal/templates/roles/*.md.tmpl` (headings), gascity `internal/runtime/beacon.go`.
 */
import { type Identity, identity, parseAddress, roleWord } from "./GasTownPath.ts"

/**
 * The format of the line. `startup`: `polecat nux (rig: gastown) <- witness`. `path` (until February 2026):
 * `gastown/polecats/nux <- witness`. `role`: gt prime's `role:<actor> pid:<n> session:<id>`. `custom`: a launcher's own text
 * after the recipient. `city`: a Gas City beacon. `training`: the `[GAS TOWN ROLE: x]` of prompts for training and
 * evaluating models.
 */
export type BeaconForm = "startup" | "path" | "role" | "custom" | "city" | "training"

export interface Beacon extends Identity {
  readonly form: BeaconForm
  readonly sender?: string
  /** As written: local time without a zone. */
  readonly timestamp?: string
  readonly topic?: string
  /** The molecule (workflow) that the agent was started for. */
  readonly molecule?: string
  /** The Gas City that wrote the beacon. */
  readonly city?: string
}

/** The `customType` of messages in which gastown's Pi hook writes `gt prime`. */
export const PRIME_CUSTOM_TYPE = "gastown-prime"

const TAG = /^\[\s*gas\s+town\s*\]\s*/iu
const TRAINING = /^\[\s*gas\s+town\s+role:\s*([^\]\s]+)\s*\]/iu
const ROLE_LINE = /^(?:\[\s*gas\s+town\s*\]|gas\s+town)\s+role:(\S+)/iu
const CITY = /^\[([^\]]+)\]\s+(\S+)\s+\u2022\s+(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\s*$/u
const RECIPIENT = /^(\p{L}+)(?:\s+([^\s()]+))?(?:\s+\(rig:(?=\s*[^\s()])([^()]+)\))?$/u
const CUSTOM = /^(\p{L}+)(?:\s+([^\s().,:;!]+))?(?:\s+\(rig:(?=\s*[^\s()])([^()]+)\))?(?=[.,:;!]|\s*$)/u
/** A bullet, or its UTF-8 read as Windows-1252, as in logs of Pi's Rust port. */
const BULLET = /(?<=\s)(?:\u2022|\u00e2\u20ac\u00a2)(?=\s)/u
const HEADING = /^#\s+(\p{L}+)(?:\s+\p{L}+)?\s+context\s*$/iu

const TOPICS: ReadonlySet<string> = new Set([
  "acp",
  "assigned",
  "attach",
  "cold-start",
  "handoff",
  "lifecycle-restart",
  "patrol",
  "ready",
  "restart",
  "start",
  "triage"
])

const firstLine = (text: string): string => text.slice(0, Math.max(text.search(/[\r\n]|$/u), 0)).trim()

/** Only workers have a name and only rig roles a rig: `[GAS TOWN] deacon down` is not a beacon of the deacon. */
const agent = (word: string | undefined, name: string | undefined, rig: string | undefined): Identity | undefined => {
  const role = roleWord(word ?? "")?.role
  if (role === undefined) return undefined
  const named = role === "dog" || role === "crew" || role === "polecat"
  const rigged = role === "witness" || role === "refinery" || role === "crew" || role === "polecat"
  if ((name !== undefined && !named) || (rig !== undefined && !rigged)) return undefined
  return identity(role, name, rig?.trim())
}

const topicOf = (text: string | undefined): Pick<Beacon, "topic" | "molecule"> => {
  if (text === undefined || text === "") return {}
  const colon = text.indexOf(":")
  if (colon > 0) return { topic: text.slice(0, colon), molecule: text.slice(colon + 1) }
  // gt writes a bare molecule id where it has no topic.
  return TOPICS.has(text) || !text.includes("-") ? { topic: text } : { molecule: text }
}

const startup = (recipient: string, rest: string): Beacon | undefined => {
  const path = recipient.includes("/")
  const words = RECIPIENT.exec(recipient)
  const who = path ? parseAddress(recipient) : agent(words?.[1], words?.[2], words?.[3])
  if (who === undefined) return undefined
  const [sender, timestamp, topic] = rest.split(BULLET, 3).map((part) => part.trim())
  return {
    ...who,
    form: path ? "path" : "startup",
    ...(sender === undefined || sender === "" ? {} : { sender }),
    ...(timestamp === undefined ? {} : { timestamp }),
    ...topicOf(topic)
  }
}

const custom = (line: string): Beacon | undefined => {
  const words = CUSTOM.exec(line)
  const who = agent(words?.[1], words?.[2], words?.[3])
  if (who === undefined) return undefined
  const complete = who.role === "mayor" || who.role === "deacon" || who.role === "boot" || who.role === "dog"
  return complete || who.rig !== undefined ? { ...who, form: "custom" } : undefined
}

/** `hello-world/gastown.polecat-2`: rig, import binding, role, pool number. Other names have no role. */
const city = (line: string): Beacon | undefined => {
  const [, name, who, timestamp] = CITY.exec(line) ?? []
  if (name === undefined || who === undefined || timestamp === undefined) return undefined
  const slash = who.lastIndexOf("/")
  const base = who.slice(Math.max(slash, who.lastIndexOf(".")) + 1)
  const [, word, number] = /^(\p{L}+)(-\d+)?$/u.exec(base) ?? []
  const role = roleWord(word ?? "")?.role
  if (role === undefined) return undefined
  const worker = number !== undefined && (role === "dog" || role === "crew" || role === "polecat")
  const rig = slash > 0 ? who.slice(0, slash) : undefined
  return { ...identity(role, worker ? base : undefined, rig), form: "city", timestamp, city: name }
}

const roleLine = (line: string): Beacon | undefined => {
  const who = parseAddress(ROLE_LINE.exec(line)?.[1] ?? "")
  return who === undefined ? undefined : { ...who, form: "role" }
}

/** The beacon in the first line of a message, in any form; undefined where there is none or it has no role. */
export const parse = (text: string): Beacon | undefined => {
  const line = firstLine(text)
  const training = TRAINING.exec(line)?.[1]
  if (training !== undefined) {
    const who = parseAddress(training)
    return who === undefined ? undefined : { ...who, form: "training" }
  }
  if (ROLE_LINE.test(line)) return roleLine(line)
  const tag = TAG.exec(line)?.[0]
  if (tag === undefined) return city(line)
  const body = line.slice(tag.length)
  const arrow = body.indexOf("<-")
  const found = arrow < 0 ? custom(body) : startup(body.slice(0, arrow).trim(), body.slice(arrow + 2).trim())
  return found ?? city(line)
}

/** End of the prime: the hook appends mails to the same text. */
const REMINDER = "<system-reminder>"
const PRIME_LINES_MAX = 40

/**
 * The agent in the text of a `gastown-prime` message: from its `role:` line, else from its first heading, such as
 * `# Deacon Context`. Mails are ignored: they quote other agents' primes.
 */
export const parsePrime = (text: string): Identity | undefined => {
  for (const line of text.split(/\r\n|[\r\n]/u, PRIME_LINES_MAX)) {
    if (line.includes(REMINDER)) return undefined
    const actor = parseAddress(ROLE_LINE.exec(line)?.[1] ?? "")
    if (actor !== undefined) return actor
    if (/^#\s/u.test(line)) return roleWord(HEADING.exec(line)?.[1] ?? "")
  }
  return undefined
}
