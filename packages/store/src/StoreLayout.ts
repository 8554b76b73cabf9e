/** Paths of the files of a store (docs/store-v2.md). */
import type * as Path from "effect/Path"

/** A session's store: the directory that holds its container, and its id. */
export interface StoreLocation {
  /** Absolute. */
  readonly directory: string
  readonly sessionId: string
}

export interface StoreLayout {
  /** `<session-id>.v2` */
  readonly container: string
  readonly manifest: string
  readonly segments: string
  readonly index: string
  readonly offsets: string
  readonly checkpoints: string
  readonly migrations: string
  readonly ledger: string
  readonly tmp: string
  /** Bytes that recovery cut off, with reasons. Made when needed. */
  readonly quarantine: string
  readonly segment: (segmentSeq: number) => string
  readonly checkpoint: (checkpointSeq: number) => string
}

/** A numbered file name. Numbers have 16 digits, so that names sort in their order. */
export const numbered = (seq: number, extension: string): string => `${String(seq).padStart(16, "0")}${extension}`

/** The number in such a name; undefined for any other name. */
export const numberOf = (name: string, extension: string): number | undefined => {
  const match = /^([0-9]{16})(\.[a-z]+)$/.exec(name)
  const seq = Number(match?.[1] ?? 0)
  return match?.[2] === extension && seq > 0 ? seq : undefined
}

/** The layout of a container at `container`. */
export const of = (path: Path.Path, container: string): StoreLayout => {
  const segments = path.join(container, "segments")
  const index = path.join(container, "index")
  const checkpoints = path.join(container, "checkpoints")
  const migrations = path.join(container, "migrations")
  return {
    container,
    manifest: path.join(container, "manifest.json"),
    segments,
    index,
    offsets: path.join(index, "offsets.jsonl"),
    checkpoints,
    migrations,
    ledger: path.join(migrations, "ledger.jsonl"),
    tmp: path.join(container, "tmp"),
    quarantine: path.join(container, "quarantine"),
    segment: (segmentSeq) => path.join(segments, numbered(segmentSeq, ".seg")),
    checkpoint: (checkpointSeq) => path.join(checkpoints, numbered(checkpointSeq, ".json"))
  }
}

/** Paths in a session directory that belong to one session's store. */
export interface StoreNames {
  readonly container: string
  /** Prefix of containers that are being built; a number follows. */
  readonly staging: string
  /** Prefix of containers that are no longer the active store; a number follows. */
  readonly retired: string
  /** The active store marker. */
  readonly active: string
  readonly lock: string
}

export const names = (path: Path.Path, location: StoreLocation): StoreNames => {
  const base = path.join(location.directory, location.sessionId)
  return {
    container: `${base}.v2`,
    staging: `${base}.v2.staging-`,
    retired: `${base}.v2.retired-`,
    active: `${base}.active.json`,
    lock: `${base}.lock`
  }
}

/** The layout of a session's container. */
export const ofLocation = (path: Path.Path, location: StoreLocation): StoreLayout =>
  of(path, names(path, location).container)

/** The directories that every container has. */
export const directories = (layout: StoreLayout): ReadonlyArray<string> => [
  layout.segments,
  layout.index,
  layout.checkpoints,
  layout.migrations,
  layout.tmp
]

/** File names have at most 255 bytes, and suffixes follow the id. */
const ID_BYTES_MAX = 200

/** Whether a session id can be part of a file name. */
export const isSafeId = (sessionId: string): boolean =>
  sessionId !== "" &&
  Buffer.byteLength(sessionId) <= ID_BYTES_MAX &&
  !/[/\\\0]/.test(sessionId) &&
  !sessionId.startsWith(".")
