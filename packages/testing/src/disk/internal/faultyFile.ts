/** `FileSystem.File` on a simulated disk, step by step as Effect's node layer does it. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as PlatformError from "effect/PlatformError"
import type { SimulatedDisk } from "../SimulatedDisk.ts"
import { DiskError } from "./errno.ts"
import * as kernel from "./kernel.ts"

/** What `stat` says of an inode. */
export const info = (disk: SimulatedDisk, inode: number): FileSystem.File.Info => {
  const node = disk.node(inode)
  const mtime = Option.some(new Date(node.mtime))
  const size = node.kind === "file" ? node.content.length : 4096
  return {
    type: node.kind === "file" ? "File" : "Directory",
    mtime,
    atime: mtime,
    birthtime: mtime,
    dev: 1n,
    ino: Option.some(BigInt(inode)),
    mode: node.mode,
    nlink: Option.some(BigInt(disk.links(inode))),
    uid: Option.some(0),
    gid: Option.some(0),
    rdev: Option.some(0n),
    size: ByteSize.bytes(size),
    blksize: Option.some(ByteSize.bytes(4096)),
    blocks: Option.some(BigInt(Math.ceil(size / 512)))
  }
}

const badArgument = (method: string, description: string) =>
  PlatformError.badArgument({ module: "FileSystem", method, description })

const negativePosition = (method: string) => badArgument(method, "Cannot read before the start of the file")

const stat = (system: kernel.Kernel, descriptor: number) =>
  kernel.method(system, "stat", descriptor, () => {
    const path = system.handles.get(descriptor)?.path ?? ""
    return kernel.call(system, "stat", { call: "fstat", path, changes: false, descriptor }, () => {
      const handle = system.handles.get(descriptor)
      if (handle === undefined) throw new DiskError("EBADF")
      return info(system.disk, handle.inode)
    })
  })

const nothingWritten = (descriptor: number) =>
  PlatformError.systemError({
    module: "FileSystem",
    method: "writeAll",
    _tag: "WriteZero",
    pathOrDescriptor: descriptor,
    description: "write returned 0 bytes written"
  })

/** A file over a descriptor; the position is the program's own, as in the node layer. */
export const make = (system: kernel.Kernel, descriptor: number, append: boolean): FileSystem.File => {
  let position = 0n

  const readAt = (method: string, buffer: Uint8Array, explicit: bigint | undefined) =>
    kernel.method(system, method, descriptor, () => {
      const count = kernel.read(system, method, descriptor, buffer, Number(explicit ?? position))
      if (explicit === undefined) position += BigInt(count)
      return count
    })

  const writeOnce = (method: string, buffer: Uint8Array) =>
    kernel.method(system, method, descriptor, () => {
      const count = kernel.write(system, method, descriptor, buffer, Number(position))
      if (!append) position += BigInt(count)
      return count
    })

  const writeAll = (buffer: Uint8Array): Effect.Effect<void, PlatformError.PlatformError> =>
    Effect.flatMap(writeOnce("writeAll", buffer), (count) => {
      if (count === 0) {
        return Effect.fail(nothingWritten(descriptor))
      }
      return count < buffer.length ? writeAll(buffer.subarray(count)) : Effect.void
    })

  return {
    [FileSystem.FileTypeId]: FileSystem.FileTypeId,
    stat: stat(system, descriptor),
    sync: kernel.method(system, "sync", descriptor, () => kernel.sync(system, "sync", descriptor)),
    seek: (offset, from) =>
      Effect.suspend(() => {
        const next = from === "start" ? offset : position + offset
        if (next < 0n) return Effect.fail(badArgument("seek", "Cannot seek before the start of the file"))
        position = next
        return Effect.succeed(next)
      }),
    read: (buffer, options) => {
      const explicit = options?.position
      if (explicit !== undefined && explicit < 0n) return Effect.fail(negativePosition("read"))
      return readAt("read", buffer, explicit)
    },
    readAlloc: (size, options) => {
      const explicit = options?.position
      if (!Number.isInteger(size) || size < 0) {
        return Effect.fail(badArgument("readAlloc", "size must be a non-negative integer"))
      }
      if (explicit !== undefined && explicit < 0n) return Effect.fail(negativePosition("readAlloc"))
      return Effect.suspend(() => {
        const buffer = Buffer.alloc(size)
        return Effect.map(readAt("readAlloc", buffer, explicit), (count) =>
          count === 0 ? Option.none() : Option.some(buffer.subarray(0, count))
        )
      })
    },
    truncate: (length) =>
      kernel.method(system, "truncate", descriptor, () => {
        kernel.truncate(system, "truncate", descriptor, Math.max(0, length ?? 0))
        const end = BigInt(length ?? 0)
        if (!append && position > end) position = end
      }),
    write: (buffer) => writeOnce("write", buffer),
    writeAll: (buffer) => (buffer.length === 0 ? Effect.void : writeAll(buffer))
  }
}
