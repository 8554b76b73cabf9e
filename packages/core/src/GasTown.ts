/**
 * Detects the Gas Town agent of a session, and selects sessions by `--rig`. Gas Town (gastown) runs coding agents in fixed
 * roles. `detect` has the order of the evidence, docs/adr/005-turns-and-roles.md the reasons.
 */
import * as Schema from "effect/Schema"
import { type Beacon, parse, parsePrime } from "./gasTown/GasTownBeacon.ts"
import {
  addressOf,
  type CwdReading,
  fromCwd,
  fromSessionDirName,
  type Identity,
  identity,
  normalize,
  parseAddress,
  roleBySeedPatterns
} from "./gasTown/GasTownPath.ts"
import { Role } from "./gasTown/GasTownRole.ts"
import { encodeCwd } from "./SessionPath.ts"

export { Role } from "./gasTown/GasTownRole.ts"

/** The evidence for a role, best first. `session_dir` and `seed_pattern` are guesses. */
export const RoleSource = Schema.Literals(["override", "cwd", "beacon", "prime", "session_dir", "seed_pattern", "none"])
export type RoleSource = typeof RoleSource.Type

/** The agent of a session and the evidence for it. */
export const RoleDetection = Schema.Struct({
  role: Role,
  roleSource: RoleSource,
  /** Of a dog, crew member or polecat. */
  name: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  /** Root directory of the town, with `/` as separator. */
  town: Schema.optionalKey(Schema.String),
  /** gt's address of the agent, such as `deacon` or `gastown/crew/max`. Absent for `unknown`. */
  address: Schema.optionalKey(Schema.String),
  /** Present when the working directory and the beacon have different roles (gt's Mismatch). */
  roleConflict: Schema.optionalKey(Schema.Struct({ cwd: Role, beacon: Role }))
})
export type RoleDetection = typeof RoleDetection.Type

/** The evidence in a session. */
export interface Evidence {
  /** The header's working directory. */
  readonly cwd?: string
  /** Texts of the first user messages in order. The first three are read: a nudge may come before the beacon. */
  readonly firstUserTexts?: ReadonlyArray<string>
  /** Texts of `gastown-prime` messages. */
  readonly primeTexts?: ReadonlyArray<string>
  /** Name of the session file's directory. */
  readonly sessionDirName?: string
  /** Given by the user; overrides all evidence. */
  readonly override?: Identity
  /** Root directory of the town; the paths of sessions outside it are not evidence. */
  readonly town?: string
}

const BEACON_TEXTS_MAX = 3

const firstOf = <A, B>(values: ReadonlyArray<A>, read: (value: A) => B | undefined): B | undefined => {
  for (const value of values) {
    const found = read(value)
    if (found !== undefined) return found
  }
  return undefined
}

/** The beacon of a text. A training prompt is not evidence: no agent worked in such a session. */
const liveBeacon = (text: string): Beacon | undefined => {
  const beacon = parse(text)
  return beacon?.form === "training" ? undefined : beacon
}

const bySessionDir = ({ cwd, sessionDirName: name, town }: Evidence): Identity | undefined => {
  // A name encoded from this cwd adds nothing.
  if (name === undefined || (cwd !== undefined && encodeCwd(cwd) === name)) return undefined
  return fromSessionDirName(name, town === undefined ? {} : { town })
}

/** Without a town root the patterns decide whether there is a role, and the path's parts which one. */
const bySeedPatterns = (cwd: string | undefined, reading: CwdReading | undefined): Identity | undefined => {
  if (cwd === undefined || reading?.certainty !== "loose") return undefined
  const role = roleBySeedPatterns(normalize(cwd))
  if (role === undefined) return undefined
  return reading.role === "unknown" ? identity(role) : reading
}

const choose = (
  evidence: Evidence,
  reading: CwdReading | undefined,
  beacon: Beacon | undefined
): readonly [RoleSource, Identity] => {
  if (evidence.override !== undefined) return ["override", evidence.override]
  const strict = reading?.certainty === "town" && reading.role !== "unknown" ? reading : undefined
  if (strict?.ambiguous === false) return ["cwd", strict]
  if (beacon !== undefined) return ["beacon", beacon]
  const prime = firstOf(evidence.primeTexts ?? [], parsePrime)
  if (prime !== undefined) return ["prime", prime]
  if (strict !== undefined) return ["cwd", strict]
  const sessionDir = bySessionDir(evidence)
  if (sessionDir !== undefined) return ["session_dir", sessionDir]
  const guess = bySeedPatterns(evidence.cwd, reading)
  return guess === undefined ? ["none", identity("unknown")] : ["seed_pattern", guess]
}

/** The roles outside rigs, with their directories in the town. */
const TOWN_DIRECTORIES: ReadonlyMap<string, string> = new Map([
  ["mayor", "mayor"],
  ["deacon", "deacon"],
  ["boot", "deacon/dogs/boot"],
  ["dog", "deacon/dogs/*"]
] satisfies ReadonlyArray<readonly [Role, string]>)

/** Adds rig, name and town from the path of the same agent: a beacon has no town, an override often no rig and no name. */
const complete = (found: Identity, reading: CwdReading | undefined): Identity & { readonly town?: string } => {
  const same = reading?.role === found.role && (found.rig === undefined || found.rig === reading.rig)
  if (reading === undefined || (reading.certainty === "loose" && !same)) return found
  const rig = found.rig ?? (same || !TOWN_DIRECTORIES.has(found.role) ? reading.rig : undefined)
  const name = found.name ?? (same ? reading.name : undefined)
  return { ...identity(found.role, name, rig), ...(reading.town === undefined ? {} : { town: reading.town }) }
}

/**
 * Detects the agent of a session. Order of the evidence: override, working directory below a known town root, beacon, prime
 * heading, encoded session directory name, path patterns (without a town root), else `unknown`. Beacon and prime have
 * priority over a working directory that is `unknown` or ambiguous.
 */
export const detect = (evidence: Evidence): RoleDetection => {
  const reading =
    evidence.cwd === undefined || evidence.cwd === ""
      ? undefined
      : fromCwd(evidence.cwd, evidence.town === undefined ? {} : { town: evidence.town })
  const beacon = firstOf((evidence.firstUserTexts ?? []).slice(0, BEACON_TEXTS_MAX), liveBeacon)
  const [roleSource, found] = choose(evidence, reading, beacon)
  const { name, rig, role, town } = complete(found, reading)
  const address = addressOf(identity(role, name, rig))
  const conflict =
    reading?.certainty === "town" && reading.role !== "unknown" && beacon !== undefined && beacon.role !== reading.role
      ? { roleConflict: { cwd: reading.role, beacon: beacon.role } }
      : {}
  return {
    ...identity(role, name, rig),
    roleSource,
    ...(town === undefined ? {} : { town }),
    ...(address === undefined ? {} : { address }),
    ...conflict
  }
}

/** Options of a selector. */
export interface SelectorOptions {
  /** `deacon` also selects boot and the dogs, whose directories are below the deacon's. Default: false. */
  readonly includeDogs?: boolean
}

const normalizeSelector = (selector: string): string =>
  selector
    .normalize("NFC")
    .trim()
    .replaceAll("\\", "/")
    .split("/")
    .filter((part, index, parts) => part !== "" && !(part === "**" && parts[index - 1] === "**"))
    .join("/")

/** Matches `*` in one part with two pointers: a regular expression can take exponential time. */
const matchesPart = (pattern: string, part: string): boolean => {
  let at = 0
  let index = 0
  let star = -1
  let retry = 0
  while (index < part.length) {
    if (pattern[at] === "*") {
      star = at++
      retry = index
    } else if (pattern[at] === part[index]) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++retry
    } else return false
  }
  while (pattern[at] === "*") at++
  return at === pattern.length
}

const matchesGlob = (patterns: ReadonlyArray<string>, parts: ReadonlyArray<string>): boolean => {
  const [pattern, ...rest] = patterns
  const [part, ...others] = parts
  if (pattern === undefined) return part === undefined
  if (pattern === "**") return matchesGlob(rest, parts) || (part !== undefined && matchesGlob(patterns, others))
  return part !== undefined && matchesPart(pattern, part) && matchesGlob(rest, others)
}

/** The names by which a selector finds an agent: rig, address, and directory where it differs from the address. */
const namesOf = ({ address, rig, role }: RoleDetection): Array<string> => {
  const names = [address, rig]
  if (role === "boot") names.push("deacon/dogs/boot")
  if (role === "mayor" && rig !== undefined) names.push(`${rig}/mayor`)
  return names.filter((name) => name !== undefined).map((name) => name.normalize("NFC"))
}

const isCollection = (selector: string): boolean =>
  selector === "deacon/dogs" || /^[^/]+\/(?:crew|polecats)$/u.test(selector)

/**
 * Whether `--rig <selector>` selects a session. A selector is a rig's name, a town-level role (mayor, deacon, boot, dog), an
 * address (`gastown/witness`, `gastown/crew/max`, `gastown/nux`, `gastown/crew` for the whole crew), or a glob over rigs and
 * addresses: `*` matches within one part, `**` any number of parts.
 */
export const matchesRig = (detection: RoleDetection, selector: string, options: SelectorOptions = {}): boolean => {
  const wanted = normalizeSelector(selector)
  if (wanted === "") return false
  if (TOWN_DIRECTORIES.has(wanted)) {
    if (detection.role === wanted) return true
    return (
      wanted === "deacon" && options.includeDogs === true && (detection.role === "boot" || detection.role === "dog")
    )
  }
  const names = namesOf(detection)
  if (wanted.includes("*")) return names.some((name) => matchesGlob(wanted.split("/"), name.split("/")))
  if (names.includes(wanted)) return true
  if (isCollection(wanted)) return names.some((name) => name.startsWith(`${wanted}/`))
  const short = parseAddress(wanted)
  return short?.role === "polecat" && short.name !== undefined && names.includes(`${short.rig}/polecats/${short.name}`)
}

/** A notice for the user when the selector is a town-level role and not a rig; else undefined. */
export const describeSelector = (selector: string, options: SelectorOptions = {}): string | undefined => {
  const wanted = normalizeSelector(selector)
  const own = TOWN_DIRECTORIES.get(wanted)
  if (own === undefined) return undefined
  const directory = wanted === "deacon" && options.includeDogs === true ? "deacon/**" : own
  return `--rig ${wanted}: ${wanted} is a town-level role, not a rig; taking sessions of <town>/${directory}`
}
