/** The border between a program and its simulated disk: calls are counted, recorded, refused and stopped here. */
import * as Effect from "effect/Effect"
import type { OpenFlag } from "effect/FileSystem"
import type * as PlatformError from "effect/PlatformError"
import type * as DiskImage from "../DiskImage.ts"
import type { Fault, Operation } from "../../pi/SimulatedCall.ts"
import type { SimulatedDisk } from "../SimulatedDisk.ts"
import { DiskError, platformError, type ErrorCode } from "./errno.ts"

/** Initial state of a simulated file system, and the faults that happen to it. */
export interface Options {
  /** Initial content of the disk. Default: an empty `/tmp`. */
  readonly image?: DiskImage.DiskImage | undefined
  /**
   * Used instead of an image: the disk of a killed program. Its unsynced writes are there and still not durable.
   * The disk is shared, not copied.
   */
  readonly disk?: SimulatedDisk | undefined
  /** Asked before each call. */
  readonly fault?: ((operation: Operation) => Fault | undefined) | undefined
  /**
   * How many bytes fit. A write that does not fit is short first, and fails with ENOSPC when not one byte fits. Room
   * comes back when files are truncated, or removed and closed, or by `setCapacity`.
   */
  readonly capacityBytes?: number | undefined
  /** Called before and after each call. Must not call the file system. */
  readonly onOperation?: ((when: "before" | "after", operation: Operation) => void) | undefined
  /** The last call that is made: each later one dies with `Halted`. */
  readonly haltAfter?: number | undefined
  /** Yields before and after each member, so that fibers take turns as on a real disk. Default: false. */
  readonly interleave?: boolean | undefined
}

/** An open file or directory. */
export interface Handle {
  readonly inode: number
  readonly path: string
  readonly reads: boolean
  readonly writes: boolean
  readonly appends: boolean
}

export type Request = Omit<Operation, "index" | "method" | "result" | "count">

/** A call that was refused, on its way to becoming a `PlatformError`. */
class Refusal extends Error {
  readonly code: ErrorCode
  readonly syscall: string

  constructor(code: ErrorCode, syscall: string) {
    super(code)
    this.code = code
    this.syscall = syscall
  }
}

// What node calls the system call in its errors, where it differs.
const syscalls: Partial<Record<Operation["call"], string>> = {
  sync: "fsync",
  readdir: "scandir",
  utimes: "utime"
}

/** All that one simulated file system keeps while it runs. */
export interface Kernel {
  readonly disk: SimulatedDisk
  readonly options: Options
  readonly operations: Array<Operation>
  readonly handles: Map<number, Handle>
  lastDescriptor: number
  temporary: number
  halted: boolean
  haltAfter: number
  /** What dies when the program calls after the halt. */
  readonly halt: () => unknown
}

/**
 * Makes one call: asks for a fault, performs it, records the result, and calls the hook before and after. `perform`
 * gets the fault unless it is an error, and returns the byte count if there is one.
 */
export const call = <A>(
  kernel: Kernel,
  method: string,
  request: Request,
  perform: (fault: Exclude<Fault, { readonly _tag: "Error" }> | undefined) => A,
  refuse?: (code: ErrorCode) => void
): A => {
  if (kernel.halted) throw kernel.halt()
  const { operations, options } = kernel
  const index = operations.length
  const operation: Operation = { ...request, index, method }
  operations.push(operation)
  options.onOperation?.("before", operation)
  const finish = (result: string, value: unknown) => {
    const done = { ...operation, result, ...(typeof value === "number" && "length" in request && { count: value }) }
    operations[index] = done
    if (index >= kernel.haltAfter) kernel.halted = true
    options.onOperation?.("after", done)
  }
  try {
    const fault = options.fault?.(operation)
    if (fault?._tag === "Error") {
      refuse?.(fault.code)
      throw new DiskError(fault.code)
    }
    const value = perform(fault)
    finish("done", value)
    return value
  } catch (error) {
    if (!(error instanceof DiskError)) throw error
    finish(error.code, undefined)
    throw new Refusal(error.code, syscalls[request.call] ?? request.call)
  }
}

/** True for a refused call with one of these codes; for methods that go on after some errors. */
export const isRefusal = (error: unknown, ...codes: ReadonlyArray<ErrorCode>): boolean =>
  error instanceof Refusal && codes.includes(error.code)

/** A refusal that no single call made, as node's own checks are. */
export const refusal = (code: ErrorCode, syscall: string): Error => new Refusal(code, syscall)

/** Runs calls, one after the other and without a pause, as a method of `FileSystem`. */
export const method = <A>(
  kernel: Kernel,
  name: string,
  pathOrDescriptor: string | number,
  run: () => A,
  to?: string,
  // What the member is called in errors, where it is one call for node.
  onlySyscall?: string
): Effect.Effect<A, PlatformError.PlatformError> => {
  const effect = Effect.suspend((): Effect.Effect<A, PlatformError.PlatformError> => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      if (!(error instanceof Refusal)) return Effect.die(error)
      const syscall = onlySyscall ?? error.syscall
      return Effect.fail(platformError({ code: error.code, method: name, syscall, pathOrDescriptor, to }))
    }
  })
  if (kernel.options.interleave !== true) return effect
  return Effect.yieldNow.pipe(Effect.andThen(effect), Effect.tap(Effect.yieldNow))
}

const handleOf = (kernel: Kernel, descriptor: number): Handle => {
  const handle = kernel.handles.get(descriptor)
  if (handle === undefined) throw new DiskError("EBADF")
  return handle
}

/** Bits of the flags of `open`, as far as they matter here. */
export const openMode = (flag: OpenFlag) => ({
  reads: flag === "r" || flag.includes("+"),
  writes: flag !== "r",
  create: !flag.startsWith("r"),
  exclusive: flag.includes("x"),
  truncate: flag.startsWith("w"),
  appends: flag.startsWith("a")
})

/** Registers an open inode; the disk already holds it. */
export const register = (kernel: Kernel, handle: Handle): number => {
  kernel.lastDescriptor += 1
  kernel.handles.set(kernel.lastDescriptor, handle)
  return kernel.lastDescriptor
}

/** Closes for good, also when it fails: the descriptor is gone either way, as on Linux. */
export const close = (kernel: Kernel, name: string, descriptor: number): void => {
  const path = kernel.handles.get(descriptor)?.path ?? ""
  const release = () => {
    const handle = handleOf(kernel, descriptor)
    kernel.handles.delete(descriptor)
    kernel.disk.release(handle.inode)
  }
  call(kernel, name, { call: "close", path, changes: false, descriptor }, release, release)
}

/** Reads into `buffer` and says how many bytes. */
export const read = (kernel: Kernel, name: string, descriptor: number, buffer: Uint8Array, offset: number): number => {
  const path = kernel.handles.get(descriptor)?.path ?? ""
  const request: Request = { call: "read", path, changes: false, descriptor, offset, length: buffer.length }
  return call(kernel, name, request, (fault) => {
    if (buffer.length === 0) return 0
    const handle = handleOf(kernel, descriptor)
    if (!handle.reads) throw new DiskError("EBADF")
    const { content } = kernel.disk.file(handle.inode)
    const most = fault?._tag === "Short" ? Math.min(fault.bytes, buffer.length) : buffer.length
    const bytes = content.subarray(Math.min(offset, content.length), offset + most)
    buffer.set(bytes)
    return bytes.length
  })
}

/** Writes at `offset`, or at the end for handles that append, and says how many bytes. */
export const write = (kernel: Kernel, name: string, descriptor: number, bytes: Uint8Array, offset: number): number => {
  const handle = kernel.handles.get(descriptor)
  const node = handle === undefined ? undefined : kernel.disk.node(handle.inode)
  const at = handle?.appends === true && node?.kind === "file" ? node.content.length : offset
  const path = handle?.path ?? ""
  const request: Request = { call: "write", path, changes: true, descriptor, offset: at, length: bytes.length }
  return call(kernel, name, request, (fault) => {
    const { inode, writes } = handleOf(kernel, descriptor)
    if (!writes) throw new DiskError("EBADF")
    const most = fault?._tag === "Short" ? bytes.subarray(0, fault.bytes) : bytes
    return kernel.disk.write(inode, at, most, path)
  })
}

export const truncate = (kernel: Kernel, name: string, descriptor: number, length: number): void => {
  const path = kernel.handles.get(descriptor)?.path ?? ""
  call(kernel, name, { call: "ftruncate", path, changes: true, descriptor, size: length }, () => {
    const { inode, writes } = handleOf(kernel, descriptor)
    if (!writes) throw new DiskError("EINVAL")
    kernel.disk.truncate(inode, length, path)
  })
}

export const sync = (kernel: Kernel, name: string, descriptor: number): void => {
  const path = kernel.handles.get(descriptor)?.path ?? ""
  const fail = () => kernel.disk.failSync(handleOf(kernel, descriptor).inode)
  const request: Request = { call: "sync", path, changes: true, descriptor }
  call(
    kernel,
    name,
    request,
    (fault) => {
      const { inode } = handleOf(kernel, descriptor)
      if (fault?._tag !== "Ignored") kernel.disk.sync(inode)
    },
    fail
  )
}
