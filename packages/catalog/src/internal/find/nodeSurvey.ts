/** FileSurvey by Node's synchronous calls. */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type FileFacts, type FileHead, type Survey, type HeadReader } from "../../FileFacts.ts"
import * as Credentials from "./credentials.ts"
import { HEAD_SIZES } from "./headSizes.ts"

/** Files between two pauses, some milliseconds of work. */
const BATCH = 512

/** Without the second flag opening a pipe would wait for somebody to write to it. */
const READ = Fs.constants.O_RDONLY | (Fs.constants.O_NONBLOCK ?? 0)

const REASONS: { readonly [code: string]: string } = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ELOOP: "a link that leads to itself",
  ENXIO: "no regular file"
}

const failed = (path: string, operation: "list" | "read", cause: unknown): SessionFileError => {
  if (cause instanceof SessionFileError) return cause
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  return new SessionFileError({ path, operation, reason: REASONS[code] ?? (code === "" ? String(cause) : code) })
}

/** Opening a link fails, so that it is known which files are some. Windows has no such flag. */
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
    // The latter is what BSD says.
    const isLink = cause instanceof Error && "code" in cause && (cause.code === "ELOOP" || cause.code === "EMLINK")
    if (!isLink) throw cause
    refuseCredentials(path)
    return Fs.openSync(path, READ)
  }
}

const refuseCredentials = (path: string): void => {
  let at = path
  for (let links = 0; links < Credentials.MOST_LINKS; links++) {
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

/** Does something with each path, a batch at a time; what the system refuses is the path's result. */
const each = <A>(
  paths: ReadonlyArray<string>,
  operation: "list" | "read",
  look: (path: string) => A
): Effect.Effect<ReadonlyArray<A | SessionFileError>> =>
  Effect.suspend(() => {
    const found: Array<A | SessionFileError> = []
    const batch = () => {
      const end = Math.min(found.length + BATCH, paths.length)
      while (found.length < end) {
        const path = paths[found.length]!
        try {
          found.push(look(path))
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
      head: type === "File" ? look(descriptor, read, buffer) : undefined
    }
  } finally {
    Fs.closeSync(descriptor)
  }
}

const look = <A>(descriptor: number, read: HeadReader<A>, buffer: Buffer): A | undefined => {
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
