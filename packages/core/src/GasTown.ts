/**
 * Which Gas Town agent a session belongs to, found from all that the session says of itself, and how `--rig` selects.
 *
 * Gas Town (gastown) runs coding agents in fixed roles. The evidence, best first: what the caller says, the working
 * directory below a known town root, the startup beacon, the prime's heading, the session directory's name, and the
 * patterns of seed 004. Pure functions of values; `docs/gas-town-roles.md` argues the order.
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

/** Where a role comes from, best evidence first. `session_dir` and `seed_pattern` are guesses. */
export const RoleSource = Schema.Literals(["override", "cwd", "beacon", "prime", "session_dir", "seed_pattern", "none"])
export type RoleSource = typeof RoleSource.Type

/** The agent of a session and how it was found. */
export const RoleDetection = Schema.Struct({
  role: Role,
  roleSource: RoleSource,
  /** Of a dog, crew member or polecat. */
  name: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  /** The town's root directory, with `/` as separator. */
  town: Schema.optionalKey(Schema.String),
  /** gt's address of the agent, such as `deacon` or `gastown/crew/max`; `unknown` has none. */
  address: Schema.optionalKey(Schema.String),
  /** The working directory and the beacon name different roles (gt's Mismatch). */
  roleConflict: Schema.optionalKey(Schema.Struct({ cwd: Role, beacon: Role }))
})
export type RoleDetection = typeof RoleDetection.Type

/** What a session says of itself. */
export interface Evidence {
  /** The header's working directory. */
  readonly cwd?: string
  /** The texts of the first user messages in order; a nudge may come before the beacon, so the first three count. */
  readonly firstUserTexts?: ReadonlyArray<string>
  /** The texts of `gastown-prime` messages. */
  readonly primeTexts?: ReadonlyArray<string>
  /** The name of the directory the session file lies in. */
  readonly sessionDirName?: string
  /** What the person says; wins over everything. */
  readonly override?: Identity
  /** The town's root directory; a session outside of it is no agent's by its path. */
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

/** A training prompt is no beacon: it heads a made up or evaluated session, and no agent worked in that. */
const liveBeacon = (text: string): Beacon | undefined => {
  const beacon = parse(text)
  return beacon?.form === "training" ? undefined : beacon
}

const bySessionDir = ({ cwd, sessionDirName: name, town }: Evidence): Identity | undefined => {
  // A name made from this very cwd says the same with less.
  if (name === undefined || (cwd !== undefined && encodeCwd(cwd) === name)) return undefined
  return fromSessionDirName(name, town === undefined ? {} : { town })
}

/** Without a town root the seed's patterns say whether there is a role at all; the path's parts say which. */
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

/** The roles that belong to no rig, each with its directory below the town's root. */
const TOWN_DIRECTORIES: ReadonlyMap<string, string> = new Map([
  ["mayor", "mayor"],
  ["deacon", "deacon"],
  ["boot", "deacon/dogs/boot"],
  ["dog", "deacon/dogs/*"]
] satisfies ReadonlyArray<readonly [Role, string]>)

/** Adds what the path knows of the same agent: a beacon says no town, an override often no rig and no name. */
const complete = (found: Identity, reading: CwdReading | undefined): Identity & { readonly town?: string } => {
  const same = reading?.role === found.role && (found.rig === undefined || found.rig === reading.rig)
  if (reading === undefined || (reading.certainty === "loose" && !same)) return found
  const rig = found.rig ?? (same || !TOWN_DIRECTORIES.has(found.role) ? reading.rig : undefined)
  const name = found.name ?? (same ? reading.name : undefined)
  return { ...identity(found.role, name, rig), ...(reading.town === undefined ? {} : { town: reading.town }) }
}

/**
 * Finds the agent of a session. Order: override, working directory below a known town root, beacon, prime heading,
 * encoded session directory name, seed 004's patterns (only where no town root is known), else `unknown`. Where the
 * working directory is `unknown` or ambiguous, beacon and prime win over it.
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

/** How a selector is to be taken. */
export interface SelectorOptions {
  /** `deacon` takes boot and the dogs too, which live below the deacon's directory. */
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

/** `*` in one part, by the usual two pointers: linear where a regular expression could backtrack. */
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

/** All that a selector may name an agent by: its rig, its address, and where that differs its directory. */
const namesOf = ({ address, rig, role }: RoleDetection): Array<string> => {
  const names = [address, rig]
  if (role === "boot") names.push("deacon/dogs/boot")
  if (role === "mayor" && rig !== undefined) names.push(`${rig}/mayor`)
  return names.filter((name) => name !== undefined).map((name) => name.normalize("NFC"))
}

const isCollection = (selector: string): boolean =>
  selector === "deacon/dogs" || /^[^/]+\/(?:crew|polecats)$/u.test(selector)

/**
 * Whether `--rig <selector>` takes a session. A selector is a rig's name, a town-level role (mayor, deacon, boot, dog:
 * no rig can hold them, so it means their directory at the top of the town), an address (`gastown/witness`,
 * `gastown/crew/max`, `gastown/nux`, `gastown/crew` for the whole crew), or a glob over rigs and addresses: `*` stays
 * in one part, `**` takes any number, none included.
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

/** The line to print where a selector is not what it looks like: a town-level role in the place of a rig. */
export const describeSelector = (selector: string, options: SelectorOptions = {}): string | undefined => {
  const wanted = normalizeSelector(selector)
  const own = TOWN_DIRECTORIES.get(wanted)
  if (own === undefined) return undefined
  const directory = wanted === "deacon" && options.includeDogs === true ? "deacon/**" : own
  return `--rig ${wanted}: ${wanted} is a town-level role, not a rig; taking sessions of <town>/${directory}`
}
