/** What node does for the members of `FileSystem` that are more than one system call, or share how they make one. */
import type { OpenFlag } from "effect/FileSystem"
import type { Operation } from "../../pi/SimulatedCall.ts"
import * as faultyFile from "./faultyFile.ts"
import * as kernel from "./kernel.ts"
import * as systemCalls from "./systemCalls.ts"

type Call = Operation["call"]

// Directories list their names in arbitrary order, as on ext4, so that no code relies on an order.
const scatter = (name: string): number => {
  let hash = 2_166_136_261
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 16_777_619)
  return hash
}

export const joined = (directory: string, name: string): string => `${directory.replace(/\/+$/, "")}/${name}`

const isDirectory = (system: kernel.Kernel, path: string): boolean => {
  const { inode } = systemCalls.place(system.disk, path.replace(/(?<=.)\/+$/, ""))
  return inode !== undefined && system.disk.node(inode).kind === "directory"
}

/** A call that changes nothing on the disk. */
export const look = <A>(
  system: kernel.Kernel,
  method: string,
  call: Call,
  path: string,
  perform: (inode: number) => A
): A => kernel.call(system, method, { call, path, changes: false }, () => perform(systemCalls.find(system.disk, path)))

/** A call that changes names. */
export const change = (
  system: kernel.Kernel,
  method: string,
  call: Call,
  path: string,
  perform: () => void,
  to?: string
) => kernel.call(system, method, { call, path, changes: true, ...(to === undefined ? {} : { to }) }, perform)

export const openDescriptor = (
  system: kernel.Kernel,
  method: string,
  path: string,
  flag: OpenFlag,
  mode?: number,
  // copyFile keeps what is there until it knows that it is not the file itself.
  truncate = true
): number => {
  const how = kernel.openMode(flag)
  const request = { call: "open" as const, path, changes: how.create, flag }
  return kernel.call(system, method, request, () => {
    const inode = systemCalls.open(system.disk, path, { ...how, truncate: how.truncate && truncate, mode })
    return kernel.register(system, { inode, path, ...how })
  })
}

/** Runs with an open descriptor and closes it; the first error counts. */
export const withDescriptor = <A>(
  system: kernel.Kernel,
  method: string,
  descriptor: number,
  use: (descriptor: number) => A
): A => {
  let value: A
  try {
    value = use(descriptor)
  } catch (error) {
    try {
      if (!system.halted) kernel.close(system, method, descriptor)
    } catch {
      // Reports the first error.
    }
    throw error
  }
  kernel.close(system, method, descriptor)
  return value
}

export const writeWhole = (system: kernel.Kernel, method: string, descriptor: number, bytes: Uint8Array): void => {
  let offset = 0
  // Node writes once also when there is nothing to write.
  do {
    offset += kernel.write(system, method, descriptor, bytes.subarray(offset), offset)
  } while (offset < bytes.length)
}

export const readWhole = (system: kernel.Kernel, method: string, descriptor: number): Uint8Array => {
  const handle = system.handles.get(descriptor)
  const node = handle === undefined ? undefined : system.disk.node(handle.inode)
  const buffer = new Uint8Array(node?.kind === "file" ? node.content.length : 1)
  let offset = 0
  do {
    const count = kernel.read(system, method, descriptor, buffer.subarray(offset), offset)
    offset += count
    if (count === 0) break
  } while (offset < buffer.length)
  return buffer.subarray(0, offset)
}

export const readDirectory = (system: kernel.Kernel, method: string, path: string) =>
  look(system, method, "readdir", path, (inode) => {
    if (system.disk.node(inode).kind === "file") systemCalls.place(system.disk, `${path}/`)
    return [...system.disk.entries(inode)]
      .toSorted(([a], [b]) => scatter(a) - scatter(b))
      .map(([name, child]) => ({ name, type: faultyFile.info(system.disk, child).type }))
  })

export const readTree = (system: kernel.Kernel, method: string, path: string, prefix = ""): Array<string> =>
  readDirectory(system, method, path).flatMap(({ name, type }) => [
    prefix + name,
    ...(type === "Directory" ? readTree(system, method, joined(path, name), `${prefix}${name}/`) : [])
  ])

export const makeDirectories = (system: kernel.Kernel, path: string, mode: number | undefined): void => {
  const mkdir = () =>
    change(system, "makeDirectory", "mkdir", path, () => systemCalls.makeDirectory(system.disk, path, mode))
  try {
    mkdir()
  } catch (error) {
    if (kernel.isRefusal(error, "EEXIST")) {
      if (isDirectory(system, path)) return
      if (path.endsWith("/")) throw kernel.refusal("ENOTDIR", "mkdir")
    }
    const parent = path.replace(/\/+$/, "").replace(/\/?[^/]*$/, "")
    if (!kernel.isRefusal(error, "ENOENT") || parent === "") throw error
    makeDirectories(system, parent, mode)
    mkdir()
  }
}

export const removeTree = (system: kernel.Kernel, method: string, path: string, isDirectory: boolean): void => {
  if (!isDirectory) return change(system, method, "unlink", path, () => systemCalls.unlink(system.disk, path))
  for (const { name, type } of readDirectory(system, method, path)) {
    removeTree(system, method, joined(path, name), type === "Directory")
  }
  change(system, method, "rmdir", path, () => systemCalls.removeDirectory(system.disk, path))
}

export const copyFile = (system: kernel.Kernel, from: string, to: string): void => {
  const method = "copyFile"
  withDescriptor(system, method, openDescriptor(system, method, from, "r"), (source) => {
    const target = openDescriptor(system, method, to, "w", undefined, false)
    if (system.handles.get(source)?.inode === system.handles.get(target)?.inode) {
      return kernel.close(system, method, target)
    }
    try {
      withDescriptor(system, method, target, () => {
        const { disk, handles } = system
        const mode = disk.node(handles.get(source)?.inode ?? 0).mode
        disk.setAttributes(handles.get(target)?.inode ?? 0, { mode: 0o100000 | (mode & 0o7777) })
        kernel.truncate(system, method, target, 0)
        if (isDirectory(system, from)) throw kernel.refusal("EISDIR", "copyfile")
        writeWhole(system, method, target, readWhole(system, method, source))
      })
    } catch (error) {
      // libuv leaves no half copy, as long as it lives.
      if (!system.halted) removeTree(system, method, to, false)
      throw error
    }
  })
}
