/** Walking directories in search of what may be sessions, by names alone: files are not looked at here. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { FileSurvey } from "../../FileSurvey.ts"
import { FILE_NAME as INDEX_NAME } from "../../SessionIndex.ts"
import { type OtherFile } from "../../OtherFile.ts"

/** What may be sessions, and what could not be looked into. Grows while the walk goes on. */
export interface SessionPlaces {
  /** Paths by name: `*.jsonl`, and files that were named themselves. */
  readonly files: Array<string>
  /** `*.sqlite` */
  readonly databases: Array<string>
  readonly containers: Array<string>
  readonly others: Array<OtherFile>
  /** Directories that have a session index. */
  readonly indexed: Set<string>
  /** Real paths of directories that were entered. */
  readonly entered: Set<string>
}

/** Of a container, and those that are being built or were moved aside: their .jsonl files are an index and a ledger. */
const CONTAINER = /\.v2(\.(staging|retired)-[0-9]+)?$/

/** Files that are no sessions and no directories, by their names. Pi's credentials are not even asked for their type. */
const isNothing = (name: string): boolean =>
  name === PiEnvironment.CREDENTIALS ||
  name.startsWith(INDEX_NAME) ||
  name.endsWith(".active.json") ||
  name.endsWith("-wal") ||
  name.endsWith("-shm")

export const empty = (): SessionPlaces => ({
  files: [],
  databases: [],
  containers: [],
  others: [],
  indexed: new Set(),
  entered: new Set()
})

/** Takes paths that a person or Pi's settings named: a file is taken for a session whatever its name. */
export const addRoots = Effect.fnUntraced(function* (places: SessionPlaces, roots: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const facts = yield* survey.facts(roots)
  const directories: Array<string> = []
  for (const [index, root] of roots.entries()) {
    const found = facts[index]
    if (found === undefined || found instanceof SessionFileError) {
      if (found !== undefined) places.others.push({ path: found.path, reason: found.reason, why: "unread" })
    } else if (found.type === "Directory") directories.push(root)
    else if (root.endsWith(".sqlite")) places.databases.push(root)
    else places.files.push(root)
  }
  const containers = yield* whichContainers(directories.filter((at) => CONTAINER.test(path.basename(at))))
  places.containers.push(...containers)
  yield* addDirectories(
    places,
    directories.filter((at) => !containers.has(at))
  )
})

/** Walks directories to any depth, each real one once; those that links lead to come last. */
export const addDirectories = Effect.fnUntraced(function* (places: SessionPlaces, given: ReadonlyArray<string>) {
  let links: ReadonlyArray<string> = given
  while (links.length > 0) {
    const later: Array<string> = []
    let level = yield* enter(places, links)
    while (level.length > 0) {
      const children = yield* look(places, level)
      const below = yield* enter(
        places,
        children.map(({ path }) => path),
        children,
        later
      )
      level = below
    }
    links = later
  }
})

interface Directory {
  readonly path: string
  readonly real: string
}

/** Those directories that were not entered before. With `children`, links among them are put off till `later`. */
const enter = Effect.fnUntraced(function* (
  places: SessionPlaces,
  paths: ReadonlyArray<string>,
  children?: ReadonlyArray<{ readonly expected: string }>,
  later?: Array<string>
) {
  const survey = yield* FileSurvey
  const reals = yield* survey.realPaths(paths)
  const fresh: Array<Directory> = []
  for (const [index, path] of paths.entries()) {
    const real = reals[index]
    if (real === undefined) continue
    if (real instanceof SessionFileError) places.others.push({ path, reason: real.reason, why: "unread" })
    else if (children !== undefined && real !== children[index]?.expected) later?.push(path)
    else if (!places.entered.has(real)) {
      places.entered.add(real)
      fresh.push({ path, real })
    }
  }
  return fresh
})

/** Sorts the names in directories, and gives the directories among them. */
const look = Effect.fnUntraced(function* (places: SessionPlaces, directories: ReadonlyArray<Directory>) {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const listed = yield* survey.names(directories.map((directory) => directory.path))
  const unknown: Array<{ readonly path: string; readonly expected: string; readonly name: string }> = []
  for (const [index, names] of listed.entries()) {
    const directory = directories[index]
    if (directory === undefined) continue
    if (names instanceof SessionFileError) {
      places.others.push({ path: directory.path, reason: names.reason, why: "unread" })
      continue
    }
    const prefix = path.join(directory.path, path.sep)
    for (const name of names) {
      if (name.endsWith(".jsonl")) places.files.push(prefix + name)
      else if (name === INDEX_NAME) places.indexed.add(directory.path)
      else if (isNothing(name)) continue
      else if (name.endsWith(".sqlite")) places.databases.push(prefix + name)
      else unknown.push({ path: prefix + name, expected: path.join(directory.real, name), name })
    }
  }
  // Of two links to one directory the first is followed.
  unknown.sort((a, b) => (a.path < b.path ? -1 : 1))
  const facts = yield* survey.facts(unknown.map((entry) => entry.path))
  const found = unknown.filter((entry, index) => {
    const fact = facts[index]
    if (fact instanceof SessionFileError) places.others.push({ path: entry.path, reason: fact.reason, why: "unread" })
    return fact !== undefined && !(fact instanceof SessionFileError) && fact.type === "Directory"
  })
  const named = found.filter(({ name }) => CONTAINER.test(name)).map((entry) => entry.path)
  const containers = yield* whichContainers(named)
  for (const container of containers) if (container.endsWith(".v2")) places.containers.push(container)
  return found.filter((entry) => !containers.has(entry.path))
})

/** The directories among those of a container's name that are one, also where it has lost its manifest. */
const whichContainers = Effect.fnUntraced(function* (directories: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const containers = new Set<string>()
  for (const part of ["manifest.json", "segments"]) {
    const facts = yield* survey.facts(directories.map((directory) => path.join(directory, part)))
    for (const [index, fact] of facts.entries()) {
      const directory = directories[index]
      if (directory !== undefined && !(fact instanceof SessionFileError)) containers.add(directory)
    }
  }
  return containers
})
