/** What a running program did to a disk that is not certain to survive a power cut. */
import * as fileContent from "./fileContent.ts"

interface ContentOperationBase {
  /** Its place among all operations on the disk. */
  readonly sequence: number
  /** How messages call it. */
  readonly label: string
  /**
   * - `pending`: the next sync of the file makes it durable
   * - `failed`: a sync failed over it, so no later sync will make it durable, though it may be
   * - `settled`: durable, but after one that is not
   */
  readonly status: "pending" | "failed" | "settled"
}

export interface WriteOperation extends ContentOperationBase {
  readonly kind: "write"
  readonly offset: number
  readonly bytes: fileContent.FileContent
  /** The length of the file just before. */
  readonly lengthBefore: number
}

export interface TruncateOperation extends ContentOperationBase {
  readonly kind: "truncate"
  readonly length: number
}

export type ContentOperation = WriteOperation | TruncateOperation

/** One name of one directory that now names an inode, or nothing. */
export interface EntryEdit {
  readonly directory: number
  readonly name: string
  readonly inode: number | undefined
}

/** Edits of entries that happen together or not at all. */
export interface EntryOperation {
  readonly sequence: number
  readonly label: string
  readonly edits: ReadonlyArray<EntryEdit>
  /** Operations that cannot be missing when this one is there, as far as they are pending too, and what they need. */
  readonly needs: ReadonlySet<number>
  readonly movesDirectory: boolean
  readonly failed: boolean
}

export type Entries = ReadonlyMap<string, number>

/** Applies edits to directories, whose maps are replaced and never changed. */
export const applyEdits = (directories: Map<number, Entries>, edits: ReadonlyArray<EntryEdit>): void => {
  for (const { directory, name, inode } of edits) {
    const entries = new Map(directories.get(directory))
    if (inode === undefined) entries.delete(name)
    else entries.set(name, inode)
    directories.set(directory, entries)
  }
}

export const touches = ({ edits }: EntryOperation, { directory, name }: EntryEdit): boolean =>
  edits.some((edit) => edit.directory === directory && edit.name === name)

export const applyOperation = (content: fileContent.FileContent, operation: ContentOperation) =>
  operation.kind === "write"
    ? fileContent.write(content, operation.offset, operation.bytes)
    : fileContent.truncate(content, operation.length)

/** True when a settled operation makes it all the same whether an earlier one is there. */
const covers = (by: ContentOperation, operation: ContentOperation): boolean => {
  if (by.status !== "settled" || operation.kind !== "write") return false
  if (by.kind === "truncate") return by.length <= operation.offset
  return by.offset <= operation.offset && by.offset + by.bytes.length >= operation.offset + operation.bytes.length
}

/** The operations after a sync that succeeded: the pending settle, and failed ones that were written again are gone. */
export const settle = (operations: ReadonlyArray<ContentOperation>): ReadonlyArray<ContentOperation> => {
  const settled = operations.map((operation) =>
    operation.status === "pending" ? { ...operation, status: "settled" as const } : operation
  )
  return settled.filter(
    (operation, index) =>
      operation.status !== "failed" || !settled.some((by, later) => later > index && covers(by, operation))
  )
}
