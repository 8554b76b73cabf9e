/** FileSurvey with synchronous calls of Node. */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type FileFacts, type FileHead, type Survey, type HeadReader } from "../../FileFacts.ts"
import { READ, codeOf, failed } from "../nodeFile.ts"
import * as Credentials from "./credentials.ts"
import { HEAD_SIZES } from "./headSizes.ts"

/** Files between two yields: some milliseconds of work. */
const BATCH = 512

/** Makes opening a link fail, which identifies links. Windows has no such flag. */
const NO_LINK = Fs.constants.O_NOFOLLOW

/** Opens a file, unless it is a link to credentials. */
const open = (path: string): number => {
  if (NO_LINK === undefined) {
    if (Fs.lstatSync(path).isSymbolicLink()) refuseCredentials(path)
    return Fs.openSync(path, READ)
  }
  try {
    return Fs.openSync(path, READ | NO_LINK)
  } catch (cause) {
    // BSD reports EMLINK.
    if (codeOf(cause) !== "ELOOP" && codeOf(cause) !== "EMLINK") throw cause
    refuseCredentials(path)
    return Fs.openSync(path, READ)
  }
}

const refuseCredentials = (path: string): void => {
  let at = path
  for (let links = 0; links < Credentials.LINKS_MAX; links++) {
    at = Path.resolve(Path.dirname(at), Fs.readlinkSync(at))
    if (Credentials.isCredentials(at))
      throw new SessionFileError({ path, operation: "read", reason: Credentials.REASON })
    if (Fs.lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return
  }
}

const factsOf = (stats: Fs.Stats): FileFacts => ({
  type: typeOf(stats),
  sizeBytes: stats.size,
  modifiedMs: Math.floor(stats.mtimeMs),
  inode: stats.ino
})

const typeOf = (stats: Fs.Stats): FileFacts["type"] =>
  stats.isFile() ? "File" : stats.isDirectory() ? "Directory" : "Other"

/** Applies `operate` to each path, in batches. A failure is the result of its path. */
const each = <A>(
  paths: ReadonlyArray<string>,
  operation: "list" | "read",
  operate: (path: string) => A
): Effect.Effect<ReadonlyArray<A | SessionFileError>> =>
  Effect.suspend(() => {
    const found: Array<A | SessionFileError> = []
    const batch = () => {
      const end = Math.min(found.length + BATCH, paths.length)
      while (found.length < end) {
        const path = paths[found.length]!
        try {
          found.push(operate(path))
        } catch (cause) {
          found.push(failed(path, operation, cause))
        }
      }
    }
    if (paths.length <= BATCH) return Effect.sync(() => (batch(), found))
    return Effect.as(
      Effect.whileLoop({
        while: () => found.length < paths.length,
        body: () => Effect.andThen(Effect.sync(batch), Effect.yieldNow),
        step: () => {}
      }),
      found
    )
  })

const headOf = <A>(path: string, read: HeadReader<A>, buffer: Buffer): FileHead<A> => {
  const descriptor = open(path)
  try {
    const stats = Fs.fstatSync(descriptor)
    const type = typeOf(stats)
    return {
      type,
      sizeBytes: stats.size,
      modifiedMs: Math.floor(stats.mtimeMs),
      inode: stats.ino,
      head: type === "File" ? readHead(descriptor, read, buffer) : undefined
    }
  } finally {
    Fs.closeSync(descriptor)
  }
}

const readHead = <A>(descriptor: number, read: HeadReader<A>, buffer: Buffer): A | undefined => {
  for (const size of HEAD_SIZES) {
    const into = size <= buffer.length ? buffer : Buffer.allocUnsafe(size)
    const length = readFully(descriptor, into, size)
    const head = read(length === into.length ? into : into.subarray(0, length), length < size)
    if (head !== undefined || length < size) return head
  }
  return undefined
}

const readFully = (descriptor: number, into: Buffer, size: number): number => {
  let length = Fs.readSync(descriptor, into, 0, size, 0)
  while (length > 0 && length < size) {
    const count = Fs.readSync(descriptor, into, length, size - length, length)
    if (count === 0) break
    length += count
  }
  return length
}

export const survey: Survey = {
  names: (directories) => each(directories, "list", (path) => Fs.readdirSync(path)),
  facts: (paths) => each(paths, "list", (path) => factsOf(Fs.statSync(path))),
  heads: (paths, read) =>
    Effect.suspend(() => {
      const buffer = Buffer.allocUnsafe(HEAD_SIZES[0])
      return each(paths, "read", (path) => headOf(path, read, buffer))
    }),
  realPaths: (paths) => each(paths, "list", (path) => Fs.realpathSync.native(path))
}
