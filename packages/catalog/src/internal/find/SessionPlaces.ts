/** Walks directories and collects paths that may be sessions, by name only. Opens no file. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { FileSurvey } from "../../FileSurvey.ts"
import { FILE_NAME as INDEX_NAME } from "../../SessionIndex.ts"
import { type OtherFile } from "../../OtherFile.ts"

/** Collected paths. Grows during the walk. */
export interface SessionPlaces {
  /** `*.jsonl`, and explicitly named files. */
  readonly files: Array<string>
  /** `*.sqlite` */
  readonly databases: Array<string>
  readonly containers: Array<string>
  readonly others: Array<OtherFile>
  /** Directories that contain a session index. */
  readonly indexed: Set<string>
  /** Real paths of the directories visited. */
  readonly entered: Set<string>
}

/** A container's directory, also one that is being built or was retired. The .jsonl files in it are not sessions. */
const CONTAINER = /\.v2(\.(staging|retired)-[0-9]+)?$/

/** Names to skip without a system call: Pi's credentials, and files of indexes, stores and SQLite. */
const isSkipped = (name: string): boolean =>
  name === PiEnvironment.CREDENTIALS ||
  name.startsWith(INDEX_NAME) ||
  name.endsWith(".active.json") ||
  name.endsWith("-wal") ||
  name.endsWith("-shm")

/** Collects paths from the roots that the user or Pi's settings name. A root that is a file may have any name. */
export const walk = Effect.fnUntraced(function* (roots: ReadonlyArray<string>) {
  const places: SessionPlaces = {
    files: [],
    databases: [],
    containers: [],
    others: [],
    indexed: new Set(),
    entered: new Set()
  }
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
  return places
})

/** Walks directories to any depth, each real directory once. Links are followed last. */
export const addDirectories = Effect.fnUntraced(function* (places: SessionPlaces, given: ReadonlyArray<string>) {
  let links: ReadonlyArray<string> = given
  while (links.length > 0) {
    const later: Array<string> = []
    let level = yield* enter(places, links)
    while (level.length > 0) {
      const children = yield* list(places, level)
      level = yield* enter(
        places,
        children.map(({ path }) => path),
        children,
        later
      )
    }
    links = later
  }
})

interface Directory {
  readonly path: string
  readonly real: string
}

/** Returns the directories not yet visited. With `children`, adds links among them to `later` instead. */
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

/** Collects the names in directories and returns the subdirectories. */
const list = Effect.fnUntraced(function* (places: SessionPlaces, directories: ReadonlyArray<Directory>) {
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
      else if (isSkipped(name)) continue
      else if (name.endsWith(".sqlite")) places.databases.push(prefix + name)
      else unknown.push({ path: prefix + name, expected: path.join(directory.real, name), name })
    }
  }
  // Sorted, so that of two links to one directory the same one is followed each time.
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

/** The directories that are containers: those with a manifest, or with segments if the manifest is lost. */
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
