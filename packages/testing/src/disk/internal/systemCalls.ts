/** Linux's calls that take paths, on a simulated disk: the same checks in the same order. All throw `DiskError`s. */
import * as DiskImage from "../DiskImage.ts"
import type { SimulatedDisk } from "../SimulatedDisk.ts"
import { DiskError } from "./errno.ts"

/** Where a path leads: an entry of a directory, which may not be there yet. */
export interface Place {
  readonly directory: number
  /** Empty for the root and for paths that end in `..`. */
  readonly name: string
  readonly inode: number | undefined
  readonly trailingSlash: boolean
}

export interface OpenHow {
  readonly create: boolean
  readonly exclusive: boolean
  readonly truncate: boolean
  readonly writes: boolean
  readonly mode: number | undefined
}

const umask = 0o022

/** Follows a path from the root; every part but the last must be a directory that is there. */
export const place = (disk: SimulatedDisk, path: string): Place => {
  if (path === "") throw new DiskError("ENOENT")
  const trailingSlash = path.endsWith("/")
  let at: Place = { directory: DiskImage.root, name: "", inode: DiskImage.root, trailingSlash }
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue
    if (at.inode === undefined) throw new DiskError("ENOENT")
    const node = disk.node(at.inode)
    if (node.kind === "file") throw new DiskError("ENOTDIR")
    at =
      part === ".."
        ? { directory: node.parent, name: "", inode: node.parent, trailingSlash }
        : { directory: at.inode, name: part, inode: disk.entries(at.inode).get(part), trailingSlash }
  }
  if (trailingSlash && at.inode !== undefined && disk.node(at.inode).kind === "file") throw new DiskError("ENOTDIR")
  return at
}

const withoutSlash = (path: string): string => path.replace(/(?<=.)\/+$/, "")

/** A place for something new: what is there already says EEXIST, whether a directory was asked for or not. */
const placeForNew = (disk: SimulatedDisk, path: string): Place => {
  const at = place(disk, withoutSlash(path))
  if (at.inode !== undefined) throw new DiskError("EEXIST")
  return { ...at, trailingSlash: path.endsWith("/") }
}

/** The inode of a path that must be there. */
export const find = (disk: SimulatedDisk, path: string): number => {
  const { inode } = place(disk, path)
  if (inode === undefined) throw new DiskError("ENOENT")
  return inode
}

const createFile = (disk: SimulatedDisk, at: Place, path: string, how: OpenHow): number => {
  if (!how.create) throw new DiskError("ENOENT")
  const inode = disk.create("file", at.directory, 0o100000 | ((how.mode ?? 0o666) & ~umask))
  disk.changeEntries(`create of ${path}`, [{ directory: at.directory, name: at.name, inode }])
  return inode
}

/** Opens for a handle, which holds the inode until `release`. Directories open for reading only. */
export const open = (disk: SimulatedDisk, path: string, how: OpenHow): number => {
  const at = place(disk, how.create ? withoutSlash(path) : path)
  if (how.create && path.endsWith("/")) throw new DiskError("EISDIR")
  if (at.inode !== undefined) {
    if (how.exclusive) throw new DiskError("EEXIST")
    const isDirectory = disk.node(at.inode).kind === "directory"
    if (isDirectory && (how.writes || how.create)) throw new DiskError("EISDIR")
    if (how.truncate) disk.truncate(at.inode, 0, path)
  }
  const inode = at.inode ?? createFile(disk, at, path, how)
  disk.retain(inode)
  return inode
}

export const makeDirectory = (disk: SimulatedDisk, path: string, mode = 0o777): void => {
  const { directory, name } = placeForNew(disk, path)
  const made = disk.create("directory", directory, 0o040000 | (mode & ~umask))
  disk.changeEntries(`mkdir of ${path}`, [{ directory, name, inode: made }])
}

export const link = (disk: SimulatedDisk, existing: string, path: string): void => {
  const inode = find(disk, existing)
  const at = placeForNew(disk, path)
  if (at.trailingSlash) throw new DiskError("ENOENT")
  if (disk.node(inode).kind === "directory") throw new DiskError("EPERM")
  disk.changeEntries(`link of ${path}`, [{ directory: at.directory, name: at.name, inode }])
}

export const unlink = (disk: SimulatedDisk, path: string): void => {
  const { directory, name } = place(disk, path)
  if (disk.node(find(disk, path)).kind === "directory") throw new DiskError("EISDIR")
  disk.changeEntries(`remove of ${path}`, [{ directory, name, inode: undefined }])
}

export const removeDirectory = (disk: SimulatedDisk, path: string): void => {
  const { directory, name } = place(disk, path)
  const inode = find(disk, path)
  if (disk.node(inode).kind === "file") throw new DiskError("ENOTDIR")
  if (name === "") throw new DiskError("EBUSY")
  if (disk.entries(inode).size > 0) throw new DiskError("ENOTEMPTY")
  disk.changeEntries(`rmdir of ${path}`, [{ directory, name, inode: undefined }])
}

const isWithin = (disk: SimulatedDisk, inode: number, ancestor: number): boolean => {
  if (inode === ancestor) return true
  const node = disk.node(inode)
  return inode !== DiskImage.root && node.kind === "directory" && isWithin(disk, node.parent, ancestor)
}

const checkReplaced = (disk: SimulatedDisk, from: Place, replaced: number, isDirectory: boolean): void => {
  const { kind } = disk.node(replaced)
  if (kind === "directory" && isWithin(disk, from.directory, replaced)) throw new DiskError("ENOTEMPTY")
  if (isDirectory && kind === "file") throw new DiskError("ENOTDIR")
  if (!isDirectory && kind === "directory") throw new DiskError("EISDIR")
  if (disk.entries(replaced).size > 0) throw new DiskError("ENOTEMPTY")
}

export const rename = (disk: SimulatedDisk, oldPath: string, newPath: string): void => {
  const from = place(disk, withoutSlash(oldPath))
  const to = place(disk, withoutSlash(newPath))
  if (from.inode === undefined) throw new DiskError("ENOENT")
  if (from.name === "" || to.name === "") throw new DiskError("EBUSY")
  const isDirectory = disk.node(from.inode).kind === "directory"
  if (!isDirectory && (oldPath.endsWith("/") || newPath.endsWith("/"))) throw new DiskError("ENOTDIR")
  if (isDirectory && isWithin(disk, to.directory, from.inode)) throw new DiskError("EINVAL")
  // Two names of one file: nothing happens, and both stay.
  if (to.inode === from.inode) return
  if (to.inode !== undefined) checkReplaced(disk, from, to.inode, isDirectory)
  disk.changeEntries(`rename of ${oldPath} to ${newPath}`, [
    { directory: from.directory, name: from.name, inode: undefined },
    { directory: to.directory, name: to.name, inode: from.inode }
  ])
}
