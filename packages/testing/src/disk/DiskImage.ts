/**
 * The names and bytes on a disk while nothing runs; all of it is durable.
 *
 * Images are values. They share bytes with each other and with disks booted from them, so the bytes must not be
 * changed. Modes and times are not part of an image.
 */
import * as fileContent from "./internal/fileContent.ts"
import * as Zlib from "node:zlib"

/** Inodes by number; a file with two names is the same number in two entries. */
export interface DiskImage {
  readonly directories: ReadonlyMap<number, ReadonlyMap<string, number>>
  readonly files: ReadonlyMap<number, fileContent.FileContent>
}

/** The number of the root directory in every image. */
export const root = 1

/** Bytes or text by path. A path that ends in `/` is an empty directory. */
export type Files = Readonly<Record<string, string | Uint8Array>>

/** Makes an image with these files, their parent directories and `/tmp`. */
export const fromFiles = (files: Files): DiskImage => {
  const directories = new Map<number, Map<string, number>>([[root, new Map()]])
  const contents = new Map<number, fileContent.FileContent>()
  let last = root
  const directory = (parts: ReadonlyArray<string>): Map<string, number> => {
    let entries = directories.get(root) ?? new Map<string, number>()
    for (const part of parts) {
      const known = entries.get(part)
      const below = known === undefined ? new Map<string, number>() : directories.get(known)
      if (below === undefined) throw new Error(`${part} is a file and a directory`)
      if (known === undefined) {
        last += 1
        entries.set(part, last)
        directories.set(last, below)
      }
      entries = below
    }
    return entries
  }
  directory(["tmp"])
  for (const [path, data] of Object.entries(files)) {
    const parts = path.split("/").filter((part) => part !== "")
    if (path.endsWith("/")) {
      directory(parts)
      continue
    }
    const entries = directory(parts.slice(0, -1))
    last += 1
    entries.set(parts.at(-1) ?? "", last)
    contents.set(last, fileContent.from(data))
  }
  return { directories, files: contents }
}

/** An image with only `/tmp`. */
export const empty: DiskImage = fromFiles({})

/** Every path of an image in order, directories with a `/` at the end; the root is left out. */
export const paths = (image: DiskImage): ReadonlyArray<readonly [path: string, inode: number]> => {
  const found: Array<readonly [string, number]> = []
  const visit = (inode: number, prefix: string) => {
    for (const [name, child] of image.directories.get(inode) ?? []) {
      const isDirectory = image.directories.has(child)
      found.push([`${prefix}${name}${isDirectory ? "/" : ""}`, child])
      if (isDirectory) visit(child, `${prefix}${name}/`)
    }
  }
  visit(root, "/")
  return found.sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The bytes of a file by its absolute path; undefined if there is no file. */
export const read = (image: DiskImage, path: string): Uint8Array | undefined => {
  let inode: number | undefined = root
  for (const part of path.split("/")) {
    if (part === "" || inode === undefined) continue
    inode = image.directories.get(inode)?.get(part)
  }
  return inode === undefined ? undefined : image.files.get(inode)?.slice()
}

/** The image as input of `fromFiles`, with copied bytes. Change them and make another image to simulate damage. */
export const toFiles = (image: DiskImage): Record<string, Uint8Array> =>
  Object.fromEntries(
    paths(image).map(([path, inode]) => [path, image.files.get(inode)?.slice() ?? fileContent.empty] as const)
  )

/**
 * The image as text, one line for each path, for messages and comparisons. Long content is shown as a prefix and a
 * checksum.
 */
export const print = (image: DiskImage): string =>
  paths(image)
    .map(([path, inode]) => {
      const bytes = image.files.get(inode)
      if (bytes === undefined) return path
      const text = JSON.stringify(Buffer.from(bytes.subarray(0, 120)).toString("utf8"))
      const rest = bytes.length > 120 ? `... crc32 ${Zlib.crc32(bytes).toString(16)}` : ""
      return `${path} ${bytes.length} ${text}${rest}`
    })
    .join("\n")
