/** Where everything of a store lies (ADR, "V2 layout", and what it leaves open). */
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
  /** What recovery cut off, with reasons. Made when needed. */
  readonly quarantine: string
  readonly segment: (segmentSeq: number) => string
  readonly checkpoint: (checkpointSeq: number) => string
}

/** Numbers in file names have 16 digits, so that names sort as numbers do. */
export const numbered = (seq: number, extension: string): string => `${String(seq).padStart(16, "0")}${extension}`

/** The number in a file name of the form above; undefined for any other name. */
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

/** The names beside each other in a session directory that belong to one session's store. */
export interface StoreNames {
  readonly container: string
  /** A container that is being built: this and a number. */
  readonly staging: string
  /** A container that is not the active store any more: this and a number. */
  readonly retired: string
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

/** A name has room for 255 bytes, and what stands behind the id takes some of them. */
const ID_BYTES_MAX = 200

/** A session id that may stand in a file name. */
export const isSafeId = (sessionId: string): boolean =>
  sessionId !== "" &&
  Buffer.byteLength(sessionId) <= ID_BYTES_MAX &&
  !/[/\\\0]/.test(sessionId) &&
  !sessionId.startsWith(".")
