/**
 * Reads Gas Town roles from paths: a working directory, an agent's address in its town, Pi's session directory name.
 *
 * The rule is gastown's (`detectRole` in `internal/cmd/role.go`): the first match from the left of the path parts below the
 * town root, at any depth. gastown finds the root by `mayor/town.json`; here, without the file system, it is given, found in
 * the path, or guessed.
 */
import type { Role } from "./GasTownRole.ts"
import { encodeCwd } from "../SessionPath.ts"

/** An agent. Only dog, crew and polecat have a name; mayor, deacon, boot and dog have no rig. */
export interface Identity {
  readonly role: Role
  readonly name?: string
  readonly rig?: string
}

/** The agent of a working directory. */
export interface CwdReading extends Identity {
  /** Root of the town or Gas City, with `/` as separator. */
  readonly town?: string
  /** `town`: relative to a known town root. `loose`: without one; any project may have such a directory. */
  readonly certainty: "town" | "loose"
  /** Whether the path can be another agent's, so that the texts of the session are better evidence. */
  readonly ambiguous: boolean
}

export interface PathOptions {
  /** Root directory of the town. Default: found by a part named `gt` (the usual name) or a Gas City `.gc`. */
  readonly town?: string
}

interface Place extends Identity {
  readonly ambiguous: boolean
}

interface Path {
  readonly root: string
  readonly parts: ReadonlyArray<string>
}

/** An identity without members that are undefined. */
export const identity = (role: Role, name?: string, rig?: string): Identity => ({
  role,
  ...(name === undefined ? {} : { name }),
  ...(rig === undefined ? {} : { rig })
})

const place = (role: Role, name?: string, rig?: string, ambiguous = false): Place => ({
  ...identity(role, name, rig),
  ambiguous
})

const parsePath = (text: string): Path => {
  const slashed = text.replaceAll("\\", "/")
  const drive = /^[A-Za-z]:/u.exec(slashed)?.[0].toUpperCase() ?? ""
  const rest = slashed.slice(drive.length)
  const parts: Array<string> = []
  for (const part of rest.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return { root: rest.startsWith("/") ? `${drive}/` : drive, parts }
}

const printPath = (path: Path, length: number = path.parts.length): string =>
  path.root + path.parts.slice(0, length).join("/")

/** The normal form of a path: `/` as separator, none at the end, no `.` and `..`, drive letter in capitals. */
export const normalize = (path: string): string => printPath(parsePath(path))

const FROM = "-from-"

/**
 * A crew directory. `gt worktree beads`, run by joe of gastown, makes `beads/crew/gastown-joe` for joe of gastown; Gas City
 * names it `joe-from-gastown`. The last `-` separates rig and name: rigs of forks contain `-`, crew names do not.
 */
const crewMember = (rig: string, directory: string): Place => {
  const from = directory.lastIndexOf(FROM, directory.length - FROM.length - 1)
  if (from > 0) return place("crew", directory.slice(0, from), directory.slice(from + FROM.length), true)
  const dash = directory.lastIndexOf("-")
  const source = directory.slice(0, Math.max(dash, 0))
  const name = directory.slice(dash + 1)
  return source === "" || name === "" || source === rig
    ? place("crew", directory, rig)
    : place("crew", name, source, true)
}

const inRig = (rig: string, directory: string | undefined, name: string | undefined): Place => {
  if (rig.startsWith(".")) return place("unknown")
  // gt reports the mayor here, but it is the refinery that starts here, when its own worktree is missing.
  if (directory === "mayor") return place("mayor", undefined, rig, true)
  if (directory === "witness" || directory === "refinery") return place(directory, undefined, rig)
  if (directory === "polecats" && name !== undefined) return place("polecat", name, rig)
  if (directory === "crew" && name !== undefined) return crewMember(rig, name)
  return place("unknown", undefined, rig)
}

const inCity = (parts: ReadonlyArray<string>): Place => {
  const [kind, first, second, third] = parts
  if ((kind !== "agents" && kind !== "worktrees") || first === undefined) return place("unknown")
  if (kind === "agents") {
    if (first === "mayor" || first === "deacon" || first === "boot") return place(first)
    if (first === "dogs" && second !== undefined) return place("dog", second)
  }
  return inRig(first, second, third)
}

const inTown = (parts: ReadonlyArray<string>): Place => {
  const [first, second, third] = parts
  if (first === undefined) return place("unknown")
  if (first === ".gc") return inCity(parts.slice(1))
  if (first === "mayor") return place("mayor")
  if (first === "deacon") {
    if (second !== "dogs" || third === undefined) return place("deacon")
    return third === "boot" ? place("boot") : place("dog", third)
  }
  return inRig(first, second, third)
}

/** Most parts of a path below the town that a role depends on. */
const PLACE_PARTS = 5

const placeAt = ({ parts }: Path, townLength: number): Place =>
  inTown(parts.slice(townLength, townLength + PLACE_PARTS))

const read = (path: Path, townLength: number, certainty: CwdReading["certainty"]): CwdReading => {
  const town = printPath(path, townLength)
  return { ...placeAt(path, townLength), ...(town === "" ? {} : { town }), certainty }
}

/** Lengths of the prefixes that end in `gt` or are followed by `.gc`, outermost first, as gt searches its town. */
const townLengths = (parts: ReadonlyArray<string>): Array<number> => {
  const lengths: Array<number> = []
  parts.forEach((part, index) => {
    if (part === ".gc") lengths.push(index)
    if (part === "gt") lengths.push(index + 1)
  })
  return lengths
}

/** Parents of home directories: `/Users/deacon` is not a deacon's directory. */
const HOMES: ReadonlySet<string | undefined> = new Set(["home", "Users"])

const anchorStart = (parts: ReadonlyArray<string>, index: number): number | undefined => {
  switch (parts[index]) {
    case "deacon":
      return index
    case "mayor":
      return parts[index + 1] === "rig" && index > 0 ? index - 1 : index
    case "witness":
    case "refinery":
    case "polecats":
    case "crew":
      return index > 0 ? index - 1 : undefined
    default:
      return undefined
  }
}

const byAnchor = (path: Path): CwdReading => {
  for (let index = 0; index < path.parts.length; index++) {
    const start = anchorStart(path.parts, index)
    if (start === undefined || HOMES.has(path.parts[start - 1])) continue
    if (placeAt(path, start).role !== "unknown") return read(path, start, "loose")
  }
  return { ...place("unknown"), certainty: "loose" }
}

/**
 * The agent of a working directory, by the path parts below the town root. The root is `town`, else the outermost prefix
 * with a role that ends in `gt` or is followed by `.gc`, else the parent of the leftmost part that is an agent's directory
 * (`loose`). Windows and POSIX paths are equal. A directory of the town without a role, such as a rig's root, is `unknown`.
 */
export const fromCwd = (cwd: string, options: PathOptions = {}): CwdReading => {
  const path = parsePath(cwd)
  if (options.town !== undefined) {
    const town = parsePath(options.town)
    const inside = town.root === path.root && town.parts.every((part, index) => part === path.parts[index])
    return inside ? read(path, town.parts.length, "town") : { ...place("unknown"), certainty: "town" }
  }
  const lengths = townLengths(path.parts)
  const length = lengths.find((length) => placeAt(path, length).role !== "unknown") ?? lengths[0]
  return length === undefined ? byAnchor(path) : read(path, length, "town")
}

/** A pattern of a role: its Python source, and the same in JavaScript. */
export interface CwdRolePattern {
  readonly source: string
  readonly pattern: RegExp
  readonly role: Role
}

/**
 * Patterns of paths, in order of priority; the weakest evidence: they find 14 of the 27 layouts of gastown
 * (docs/adr/005-turns-and-roles.md). `\w` is Unicode in Python, hence the longer class here.
 */
export const CWD_ROLE_PATTERNS: ReadonlyArray<CwdRolePattern> = [
  { source: String.raw`/deacon$`, pattern: /\/deacon$/u, role: "deacon" },
  { source: String.raw`/deacon/dogs/boot$`, pattern: /\/deacon\/dogs\/boot$/u, role: "boot" },
  { source: String.raw`/witness$`, pattern: /\/witness$/u, role: "witness" },
  { source: String.raw`/refinery/rig$`, pattern: /\/refinery\/rig$/u, role: "refinery" },
  { source: String.raw`/mayor/rig$`, pattern: /\/mayor\/rig$/u, role: "mayor" },
  { source: String.raw`/crew/\w+$`, pattern: /\/crew\/[\p{L}\p{N}_]+$/u, role: "crew" },
  { source: String.raw`/polecats/\w+`, pattern: /\/polecats\/[\p{L}\p{N}_]+/u, role: "polecat" }
]

/** The role by the patterns alone. A path with `\` or a trailing slash has none. */
export const roleBySeedPatterns = (cwd: string): Role | undefined =>
  CWD_ROLE_PATTERNS.find(({ pattern }) => pattern.test(cwd))?.role

const RIG_DIRECTORIES: ReadonlySet<string> = new Set(["mayor", "witness", "refinery", "polecats", "crew"])

/** A worker's name; undefined where it is ambiguous: `road-warrior` and `road/warrior` have the same encoding. */
const workerName = (role: "polecat" | "crew", words: ReadonlyArray<string>, rig: string): string | undefined => {
  const joined = words.join("-")
  if (words.length === 1) return joined
  return role === "polecat" && joined.endsWith(`-${rig}`) ? joined.slice(0, -rig.length - 1) : undefined
}

const rigWords = (words: ReadonlyArray<string>): Identity | undefined => {
  const anchor = words.findIndex((word, index) => index > 0 && RIG_DIRECTORIES.has(word))
  const directory = words[anchor]
  const rig = words.slice(0, Math.max(anchor, 0)).join("-")
  if (directory === undefined || rig === "" || rig.startsWith(".")) return undefined
  if (directory === "mayor" || directory === "witness" || directory === "refinery") {
    return identity(directory, undefined, rig)
  }
  const rest = words.slice(anchor + 1)
  if (rest.length === 0) return undefined
  const role = directory === "crew" ? "crew" : "polecat"
  return identity(role, workerName(role, rest, rig), rig)
}

const dogWords = (words: ReadonlyArray<string>): Identity => {
  if (words[0] === "boot") return identity("boot")
  return identity("dog", words.length === 1 ? words[0] : undefined)
}

const townWords = (words: ReadonlyArray<string>): Identity | undefined => {
  if (words[0] === ".gc") {
    const [, kind, first] = words
    if (kind === "agents" && (first === "mayor" || first === "deacon" || first === "boot")) return identity(first)
    if (kind === "agents" && first === "dogs" && words.length > 3) return dogWords(words.slice(3))
    return kind === "agents" || kind === "worktrees" ? rigWords(words.slice(2)) : undefined
  }
  if (words[0] === "mayor") return identity("mayor")
  if (words[0] === "deacon")
    return words[1] === "dogs" && words.length > 2 ? dogWords(words.slice(2)) : identity("deacon")
  return rigWords(words)
}

/**
 * The agent in the name of a Pi session directory, such as `--home-ubuntu-gt-deacon--`, for sessions whose header has no
 * working directory. Pi writes `-` for every separator. Undefined unless the name contains the town (`town`, a part `gt`,
 * or `.gc`); ambiguous names of workers are omitted.
 */
export const fromSessionDirName = (name: string, options: PathOptions = {}): Identity | undefined => {
  const encoded = /^--(.*)--$/su.exec(name)?.[1]
  if (encoded === undefined) return undefined
  if (options.town !== undefined) {
    const town = encodeCwd(normalize(options.town)).slice(2, -2)
    return encoded.startsWith(`${town}-`) ? townWords(encoded.slice(town.length + 1).split("-")) : undefined
  }
  const words = encoded.split("-")
  for (const length of townLengths(words)) {
    const found = townWords(words.slice(length))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The agent of an address of gt: `mayor`, `deacon`, `deacon/boot`, `deacon/dogs/alpha`, `gastown/witness`,
 * `gastown/crew/max`, `gastown/polecats/nux`, its short form `gastown/nux`, or a role alone.
 */
export const parseAddress = (text: string): Identity | undefined => {
  const parts = text.split("/").filter((part) => part !== "")
  const [first, second, third] = parts
  if (first === undefined || parts.length > 3 || /\s/u.test(parts.join(""))) return undefined
  if (second === undefined) return first === "deacon-boot" ? identity("boot") : roleWord(first)
  if (first === "mayor") return undefined
  if (first === "deacon") {
    if (second === "boot" && third === undefined) return identity("boot")
    if (second !== "dogs") return undefined
    return third === "boot" ? identity("boot") : identity("dog", third)
  }
  if (second === "crew") return identity("crew", third, first)
  if (second === "polecats") return identity("polecat", third, first)
  if (third !== undefined) return undefined
  if (second === "mayor" || second === "witness" || second === "refinery") return identity(second, undefined, first)
  return identity("polecat", second, first)
}

const AGENTS: ReadonlyArray<Role> = ["mayor", "deacon", "boot", "dog", "witness", "refinery", "crew", "polecat"]

/** The agent of a role in any case, without name and rig; undefined for `unknown` and other words. */
export const roleWord = (word: string): Identity | undefined => {
  const role = AGENTS.find((role) => role === word.toLowerCase())
  return role === undefined ? undefined : identity(role)
}

/**
 * The address of an agent, as gt writes it. An unknown name is omitted (`gastown/crew`), and without a rig the address is
 * the role. Undefined for `unknown`.
 */
export const addressOf = ({ name, rig, role }: Identity): string | undefined => {
  const below = (directory: string) => (name === undefined ? directory : `${directory}/${name}`)
  switch (role) {
    case "unknown":
      return undefined
    case "mayor":
    case "deacon":
      return role
    case "boot":
      return "deacon/boot"
    case "dog":
      return below("deacon/dogs")
    case "witness":
    case "refinery":
      return rig === undefined ? role : `${rig}/${role}`
    case "crew":
      return rig === undefined ? role : below(`${rig}/crew`)
    case "polecat":
      return rig === undefined ? role : below(`${rig}/polecats`)
  }
}
