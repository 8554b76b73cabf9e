/**
 * Effect's `FileSystem` on a simulated disk, for tests: it records every call, gives the faults that a test asks for,
 * can be stopped at any call, and knows what a power cut would leave (`disk`, with `CrashState`).
 *
 * Errors, flags, positions, short counts and the system calls behind each member are those of Effect's node layer on
 * Linux, held against it by a test. One member may be several calls: `writeFile` is open, write and close, a recursive
 * `makeDirectory` is one `mkdir` for each level that it tries, and a fault or a power cut may come between any two.
 *
 * Not simulated: `copy`, `chown`, `readLink`, `symlink` and `watch` die; permissions are not checked (ask for EACCES by
 * a fault); relative paths start at the root; the names of temporary directories are not random; a directory lists its
 * names in an order that means nothing. Each member runs without a pause, so fibers take turns between members only,
 * and only with `interleave`.
 */
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as DiskImage from "./DiskImage.ts"
import type { ErrorCode } from "./internal/errno.ts"
import { fileSystem } from "./internal/faultyMembers.ts"
import type { Kernel } from "./internal/kernel.ts"
import { SimulatedDisk } from "./SimulatedDisk.ts"

export type { ErrorCode } from "./internal/errno.ts"

/** One system call, as the program made it. */
export interface Operation {
  /** Its place among all calls, from 0. */
  readonly index: number
  readonly call:
    | "access"
    | "chmod"
    | "close"
    | "fstat"
    | "ftruncate"
    | "link"
    | "lstat"
    | "mkdir"
    | "open"
    | "read"
    | "readdir"
    | "realpath"
    | "rename"
    | "rmdir"
    | "stat"
    | "sync"
    | "unlink"
    | "utimes"
    | "write"
  /** The member of `FileSystem` or `File` that made it. */
  readonly method: string
  /** The path; for calls on a handle, the path that it was opened with. */
  readonly path: string
  /** The new path of `rename` and `link`. */
  readonly to?: string
  /** How `open` opens. */
  readonly flag?: FileSystem.OpenFlag
  readonly descriptor?: number
  /** Where `read` and `write` begin. */
  readonly offset?: number
  /** How many bytes `read` and `write` ask for. */
  readonly length?: number
  /** The length that `ftruncate` asks for. */
  readonly size?: number
  /** Whether the call can change what a power cut leaves; a sync can. */
  readonly changes: boolean
  /** `done` or the code of the error; missing while the call is under way. */
  readonly result?: string
  /** How many bytes `read` and `write` did. */
  readonly count?: number
}

/**
 * What goes wrong with a call.
 *
 * - `Error`: the call does nothing but fail. A sync that fails so marks what was unsynced: no later sync makes it
 *   durable (see `SimulatedDisk`). A `close` that fails closes all the same, and a scope dies of it, as in Effect.
 * - `Short`: a write or read of so many bytes at most.
 * - `Ignored`: a sync that says it is done and does nothing. Ignore one after the other to see which a program needs.
 */
export type Fault =
  | { readonly _tag: "Error"; readonly code: ErrorCode }
  | { readonly _tag: "Short"; readonly bytes: number }
  | { readonly _tag: "Ignored" }

export const error = (code: ErrorCode): Fault => ({ _tag: "Error", code })
export const short = (bytes: number): Fault => ({ _tag: "Short", bytes })
export const ignored: Fault = { _tag: "Ignored" }

/** What a simulated file system begins with, and what happens to it. */
export interface Options {
  /** What is on the disk; nothing but `/tmp` unless told. */
  readonly image?: DiskImage.DiskImage | undefined
  /**
   * In place of an image: the disk of another machine, whose program was killed. What that did not sync is there, and
   * still not durable. The disk is used on, not copied.
   */
  readonly disk?: SimulatedDisk | undefined
  /** Asked before each call. */
  readonly fault?: ((operation: Operation) => Fault | undefined) | undefined
  /**
   * How many bytes fit. A write that does not fit is short first, and fails with ENOSPC when not one byte fits. Room
   * comes back when files are truncated, or removed and closed, or by `setCapacity`.
   */
  readonly capacityBytes?: number | undefined
  /** Told at both borders of each call, with the disk as it is then; must not call the file system. */
  readonly onOperation?: ((when: "before" | "after", operation: Operation) => void) | undefined
  /** The last call that is made: each later one dies with `Halted`. */
  readonly haltAfter?: number | undefined
  /** Yields before and after each member, so that fibers take turns as they do over a real disk; off unless told. */
  readonly interleave?: boolean | undefined
}

/** The defect of every call after the program was stopped. Nothing is closed or removed after it, as by kill -9. */
export class Halted extends Error {
  override readonly name = "Halted"
  constructor() {
    super("the simulated machine has stopped")
  }
}

/** A file system that a test holds in its hands. */
export interface FaultyFileSystem {
  /** The services for the program under test. */
  readonly layer: Layer.Layer<FileSystem.FileSystem | Path.Path>
  /** Every call so far; grows. */
  readonly operations: ReadonlyArray<Operation>
  /** `disk.snapshot()` is what `CrashState` takes; `disk.image()` is what kill -9 would leave. */
  readonly disk: SimulatedDisk
  /** Changes how many bytes fit, undefined for no limit. */
  readonly setCapacity: (bytes: number | undefined) => void
  /** Stops the machine now: every further call dies with `Halted`. */
  readonly halt: () => void
}

/** Makes a file system; the layer gives the same one however often it is built. */
export const make = (options: Options = {}): FaultyFileSystem => {
  const disk = options.disk ?? new SimulatedDisk(options.image)
  disk.capacityBytes = options.capacityBytes
  const kernel: Kernel = {
    disk,
    options,
    operations: [],
    handles: new Map(),
    // 0 to 2 are taken in every program.
    lastDescriptor: 2,
    temporary: 0,
    halted: false,
    haltAfter: options.haltAfter ?? Infinity,
    halt: () => new Halted()
  }
  return {
    layer: Layer.merge(Layer.succeed(FileSystem.FileSystem, fileSystem(kernel)), Path.layer),
    operations: kernel.operations,
    disk,
    setCapacity: (bytes) => {
      disk.capacityBytes = bytes
    },
    halt: () => {
      kernel.halted = true
    }
  }
}

/** Starts the machine again on what a crash left: all of it is durable now. */
export const boot = (image: DiskImage.DiskImage, options: Omit<Options, "image"> = {}): FaultyFileSystem =>
  make({ ...options, image })

/** An operation for messages, such as `#12 write 40 bytes at 0 of /a`. */
export const describe = (operation: Operation): string => {
  const { index, call, path, to, flag, offset, length, size, result } = operation
  const bytes = length === undefined ? "" : ` ${length} bytes at ${offset} of`
  const more = `${to === undefined ? "" : ` to ${to}`}${flag === undefined ? "" : ` (${flag})`}`
  const failed = result === undefined || result === "done" ? "" : `: ${result}`
  return `#${index} ${call}${bytes} ${path}${more}${size === undefined ? "" : ` to ${size}`}${failed}`
}
