/** A simulated disk at one moment: everything that determines what a power cut can leave. Immutable. */
import type { ContentOperation, Entries, EntryOperation } from "./internal/diskOperation.ts"
import type { FileContent } from "./internal/fileContent.ts"

/** A file: its visible content, its durable content, and the operations between them. */
export interface FileNode {
  readonly kind: "file"
  readonly content: FileContent
  readonly durable: FileContent
  readonly operations: ReadonlyArray<ContentOperation>
  readonly mode: number
  readonly mtime: number
}

/** A directory; its entries are in `directories`. */
export interface DirectoryNode {
  readonly kind: "directory"
  readonly parent: number
  readonly mode: number
  readonly mtime: number
}

export type Inode = FileNode | DirectoryNode

export interface DiskSnapshot {
  readonly inodes: ReadonlyMap<number, Inode>
  /** Durable entries. */
  readonly durable: ReadonlyMap<number, Entries>
  /** Operations on entries that are not durable. */
  readonly pending: ReadonlyArray<EntryOperation>
}
