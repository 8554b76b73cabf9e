/**
 * Effect's `FileSystem` on a simulated disk, for tests. It records every call, injects faults, can be stopped at any
 * call, and computes what a power cut would leave (`disk`, with `CrashState`).
 *
 * Errors, flags, positions, short counts and the system calls of each member are those of Effect's node layer on Linux;
 * a test compares them. One member can be several calls: `writeFile` is open, write and close, a recursive
 * `makeDirectory` is one `mkdir` for each level. A fault or a power cut can happen between any two.
 *
 * Not simulated: `copy`, `chown`, `readLink`, `symlink` and `watch` die; permissions are not checked (inject EACCES as
 * a fault); relative paths start at the root; temporary directories have fixed names; directories list names in
 * arbitrary order. Each member runs without interruption, so fibers take turns only between members, and only with
 * `interleave`.
 */
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { fileSystem } from "./internal/faultyMembers.ts"
import type * as DiskImage from "./DiskImage.ts"
import type { Kernel, Options } from "./internal/kernel.ts"
import type { Operation } from "../pi/SimulatedCall.ts"
import { SimulatedDisk } from "./SimulatedDisk.ts"

export type { ErrorCode } from "./internal/errno.ts"
export type { Options } from "./internal/kernel.ts"
export { error, type Fault, ignored, type Operation, short } from "../pi/SimulatedCall.ts"

/** The defect of every call after the program was stopped. Nothing is closed or removed after it, as with kill -9. */
export class Halted extends Error {
  override readonly name = "Halted"
  constructor() {
    super("the simulated machine has stopped")
  }
}

/** A file system controlled by a test. */
export interface FaultyFileSystem {
  /** The services for the program under test. */
  readonly layer: Layer.Layer<FileSystem.FileSystem | Path.Path>
  /** Every call so far; the array grows. */
  readonly operations: ReadonlyArray<Operation>
  /** `disk.snapshot()` is what `CrashState` takes; `disk.image()` is what kill -9 would leave. */
  readonly disk: SimulatedDisk
  /** Changes how many bytes fit; undefined for no limit. */
  readonly setCapacity: (bytes: number | undefined) => void
  /** Stops the machine now: every further call dies with `Halted`. */
  readonly halt: () => void
}

/** Makes a file system. Building the layer again gives the same one. */
export const make = (options: Options = {}): FaultyFileSystem => {
  const disk = options.disk ?? new SimulatedDisk(options.image)
  disk.capacityBytes = options.capacityBytes
  const kernel: Kernel = {
    disk,
    options,
    operations: [],
    handles: new Map(),
    // Descriptors 0 to 2 are in use in every program.
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

/** Boots a machine from what a crash left. All of it is durable. */
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
