/** A simulated disk at one moment, with all that decides what a power cut may leave. Nothing of it ever changes. */
import type { ContentOperation, Entries, EntryOperation } from "./internal/diskOperation.ts"
import type { FileContent } from "./internal/fileContent.ts"

/** A file: what is seen, what is durable, and what was done between. */
export interface FileNode {
  readonly kind: "file"
  readonly content: FileContent
  readonly durable: FileContent
  readonly operations: ReadonlyArray<ContentOperation>
  readonly mode: number
  readonly mtime: number
}

/** A directory; its entries stand elsewhere. */
export interface DirectoryNode {
  readonly kind: "directory"
  readonly parent: number
  readonly mode: number
  readonly mtime: number
}

export type Inode = FileNode | DirectoryNode

/** All that decides what a power cut may leave; a value. */
export interface DiskSnapshot {
  readonly inodes: ReadonlyMap<number, Inode>
  /** Entries that are durable. */
  readonly durable: ReadonlyMap<number, Entries>
  /** Operations on entries that are not. */
  readonly pending: ReadonlyArray<EntryOperation>
}
