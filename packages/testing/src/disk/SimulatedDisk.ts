/**
 * A disk in memory that knows what a power cut may take from it: the plain model, without Effect and without faults.
 *
 * - A file has content as the running program sees it, and content that is durable, with the operations since: writes
 *   and truncates. A sync of the file makes its content durable, but not its names.
 * - A directory has entries likewise. A sync of the directory makes them durable. A rename is one operation, also
 *   between two directories, and durable as soon as one of them is synced. A directory whose own entry is lost takes
 *   all below it along.
 * - Operations on one and the same name reach the disk in order, and so do renames of directories. All else is
 *   unordered: `CrashState` says what may be left.
 * - After a sync that failed the program sees its data as before, but no later sync makes it durable (ATC'20, "Can
 *   applications recover from fsync failures?"): only writing it again does.
 *
 * Not modelled: symbolic links, permissions, owners, modes and times after a crash, blocks (space is counted in bytes,
 * holes as if full), stale bytes of deleted files, bit rot, and what some file systems promise beyond this, as ext4 does.
 */
import * as DiskImage from "./DiskImage.ts"
import type { DiskSnapshot, FileNode, Inode } from "./DiskSnapshot.ts"
import {
  applyEdits,
  applyOperation,
  settle,
  touches,
  type ContentOperation,
  type Entries,
  type EntryEdit,
  type EntryOperation
} from "./internal/diskOperation.ts"
import { DiskError } from "./internal/errno.ts"
import * as fileContent from "./internal/fileContent.ts"

// Every change is a millisecond later.
const start = Date.UTC(2026, 0, 5, 10)

const fileNode = (content: fileContent.FileContent, mode: number, mtime: number): FileNode => ({
  kind: "file",
  content,
  durable: content,
  operations: [],
  mode,
  mtime
})

/** A disk under a running program, by inodes; `internal/systemCalls.ts` adds paths. */
export class SimulatedDisk {
  /** Bytes that fit; undefined for no limit. May be changed at any time. */
  capacityBytes: number | undefined
  private readonly inodes = new Map<number, Inode>()
  private readonly live = new Map<number, Entries>()
  private readonly durable = new Map<number, Entries>()
  private pending: ReadonlyArray<EntryOperation> = []
  /** Names and open handles of each file. */
  private readonly references = new Map<number, { names: number; handles: number }>()
  private used = 0
  private lastInode = DiskImage.root
  private sequence = 0

  constructor(image: DiskImage.DiskImage = DiskImage.empty) {
    const parents = new Map([[DiskImage.root, DiskImage.root]])
    for (const [inode, entries] of image.directories) {
      this.live.set(inode, entries)
      this.durable.set(inode, entries)
      for (const child of entries.values()) {
        parents.set(child, inode)
        this.reference(child).names += 1
      }
    }
    for (const [inode, parent] of parents) {
      const content = image.files.get(inode)
      if (content === undefined) this.inodes.set(inode, { kind: "directory", parent, mode: 0o755, mtime: start })
      else this.inodes.set(inode, fileNode(content, 0o644, start))
      this.used += content?.length ?? 0
    }
    this.lastInode = Math.max(DiskImage.root, ...this.inodes.keys())
  }

  /** Bytes of all files that have a name or are open. */
  get usedBytes(): number {
    return this.used
  }

  snapshot(): DiskSnapshot {
    return { inodes: new Map(this.inodes), durable: new Map(this.durable), pending: this.pending }
  }

  /** The disk as the program sees it: what kill -9 leaves. */
  image(): DiskImage.DiskImage {
    const reachable = new Map<number, Entries>()
    const files = new Map<number, fileContent.FileContent>()
    const visit = (inode: number) => {
      const node = this.inodes.get(inode)
      if (node?.kind === "file") files.set(inode, node.content)
      else {
        const entries = this.entries(inode)
        reachable.set(inode, entries)
        for (const child of entries.values()) visit(child)
      }
    }
    visit(DiskImage.root)
    return { directories: reachable, files }
  }

  node(inode: number): Inode {
    const node = this.inodes.get(inode)
    if (node === undefined) throw new Error(`no inode ${inode}`)
    return node
  }

  file(inode: number): FileNode {
    const node = this.node(inode)
    if (node.kind === "directory") throw new DiskError("EISDIR")
    return node
  }

  entries(inode: number): Entries {
    return this.live.get(inode) ?? new Map()
  }

  /** How many names an inode has. */
  links(inode: number): number {
    const { names } = this.reference(inode)
    if (this.node(inode).kind === "file" || (names === 0 && inode !== DiskImage.root)) return names
    let below = 0
    for (const child of this.entries(inode).values()) if (this.node(child).kind === "directory") below += 1
    return 2 + below
  }

  /** A new file or directory that has no name yet. */
  create(kind: Inode["kind"], parent: number, mode: number): number {
    this.lastInode += 1
    const inode = this.lastInode
    if (kind === "file") this.inodes.set(inode, fileNode(fileContent.empty, mode, this.now()))
    else {
      this.inodes.set(inode, { kind, parent, mode, mtime: this.now() })
      this.live.set(inode, new Map())
      this.durable.set(inode, new Map())
    }
    return inode
  }

  /** Keeps the bytes of an inode while it is open, whatever happens to its names. */
  retain(inode: number): void {
    this.reference(inode).handles += 1
  }

  release(inode: number): void {
    const before = this.allocated(inode)
    this.reference(inode).handles -= 1
    this.used += this.allocated(inode) - before
  }

  /** Writes and says how many bytes: fewer when the disk fills up, ENOSPC when not one fits. */
  write(inode: number, offset: number, bytes: Uint8Array, path: string): number {
    const { content } = this.file(inode)
    if (bytes.length === 0) return 0
    const free = this.capacityBytes === undefined ? Infinity : Math.max(0, this.capacityBytes - this.used)
    const count = Math.min(bytes.length, content.length + free - offset)
    if (count <= 0) throw new DiskError("ENOSPC")
    const written = fileContent.write(content, offset, bytes.subarray(0, count))
    this.changeContent(inode, written, {
      ...this.next(`write of ${count} bytes at ${offset} of ${path}`),
      kind: "write",
      status: "pending",
      offset,
      bytes: written.subarray(offset, offset + count),
      lengthBefore: content.length
    })
    return count
  }

  truncate(inode: number, length: number, path: string): void {
    const { content } = this.file(inode)
    if (length === content.length) return
    this.changeContent(inode, fileContent.truncate(content, length), {
      ...this.next(`truncate to ${length} of ${path}`),
      kind: "truncate",
      status: "pending",
      length
    })
  }

  /** Changes names in directories, all together. */
  changeEntries(label: string, edits: ReadonlyArray<EntryEdit>): void {
    const movesDirectory =
      edits.length > 1 && edits.some(({ inode }) => inode !== undefined && this.node(inode).kind === "directory")
    // The latest of each is enough: it needs the earlier ones itself.
    const needs = [
      ...edits.map((edit) => this.pending.findLast((earlier) => touches(earlier, edit))),
      movesDirectory ? this.pending.findLast((earlier) => earlier.movesDirectory) : undefined
    ].flatMap((operation) => (operation === undefined ? [] : [operation.sequence]))
    const affected = new Set(edits.flatMap(({ directory, name, inode }) => [inode, this.entries(directory).get(name)]))
    const allocatedNow = () => [...affected].reduce<number>((sum, inode) => sum + this.allocated(inode ?? 0), 0)
    const before = allocatedNow()
    for (const edit of edits) {
      const replaced = this.entries(edit.directory).get(edit.name)
      if (replaced !== undefined) this.reference(replaced).names -= 1
      if (edit.inode !== undefined) this.reference(edit.inode).names += 1
      applyEdits(this.live, [edit])
      const directory = this.node(edit.directory)
      this.inodes.set(edit.directory, { ...directory, mtime: this.now() })
      const node = edit.inode === undefined ? undefined : this.node(edit.inode)
      if (edit.inode !== undefined && node?.kind === "directory") {
        this.inodes.set(edit.inode, { ...node, parent: edit.directory })
      }
    }
    this.used += allocatedNow() - before
    const operation = { ...this.next(label), edits, movesDirectory, failed: false }
    this.pending = [...this.pending, { ...operation, needs: new Set(needs) }]
  }

  /** Makes the content of a file, or the entries of a directory, durable. */
  sync(inode: number): void {
    const node = this.node(inode)
    if (node.kind === "directory") return this.syncEntries(inode)
    const operations = settle(node.operations)
    const undecided = operations.findIndex(({ status }) => status !== "settled")
    if (undecided < 0) {
      this.inodes.set(inode, { ...node, durable: node.content, operations: [] })
      return
    }
    const durable = operations.slice(0, undecided).reduce(applyOperation, node.durable)
    this.inodes.set(inode, { ...node, durable, operations: operations.slice(undecided) })
  }

  /** A sync that failed: nothing becomes durable, and no later sync will do it for what was pending. */
  failSync(inode: number): void {
    const node = this.node(inode)
    if (node.kind === "directory") {
      this.pending = this.pending.map((operation) =>
        operation.edits.some(({ directory }) => directory === inode) ? { ...operation, failed: true } : operation
      )
      return
    }
    const operations = node.operations.map((operation) =>
      operation.status === "pending" ? { ...operation, status: "failed" as const } : operation
    )
    this.inodes.set(inode, { ...node, operations })
  }

  setAttributes(inode: number, attributes: { readonly mode: number } | { readonly mtime: number }): void {
    this.inodes.set(inode, { ...this.node(inode), ...attributes })
  }

  private syncEntries(inode: number): void {
    const settled = new Set<number>()
    for (const operation of this.pending.toReversed()) {
      const { edits, failed, needs, sequence } = operation
      if (!settled.has(sequence) && (failed || edits.every(({ directory }) => directory !== inode))) continue
      settled.add(sequence)
      for (const need of needs) settled.add(need)
    }
    for (const { sequence, edits } of this.pending) if (settled.has(sequence)) applyEdits(this.durable, edits)
    this.pending = this.pending.filter(({ sequence }) => !settled.has(sequence))
    if (settled.size > 0) this.forgetUnreachable()
  }

  /** Drops inodes that neither the program nor a disk after a crash can reach. */
  private forgetUnreachable(): void {
    const reachable = new Set([DiskImage.root])
    for (const directories of [this.live, this.durable]) {
      for (const entries of directories.values()) for (const inode of entries.values()) reachable.add(inode)
    }
    for (const { edits } of this.pending) for (const { inode } of edits) reachable.add(inode ?? DiskImage.root)
    for (const inode of this.inodes.keys()) {
      if (reachable.has(inode) || this.reference(inode).handles > 0) continue
      for (const table of [this.inodes, this.live, this.durable, this.references]) table.delete(inode)
    }
  }

  private changeContent(inode: number, content: fileContent.FileContent, operation: ContentOperation): void {
    const node = this.file(inode)
    const operations = [...node.operations, operation]
    const before = this.allocated(inode)
    this.inodes.set(inode, { ...node, content, operations, mtime: this.now() })
    this.used += this.allocated(inode) - before
  }

  private allocated(inode: number): number {
    const { names, handles } = this.reference(inode)
    const node = this.inodes.get(inode)
    return node?.kind === "file" && names + handles > 0 ? node.content.length : 0
  }

  private reference(inode: number): { names: number; handles: number } {
    const known = this.references.get(inode)
    if (known !== undefined) return known
    const fresh = { names: 0, handles: 0 }
    this.references.set(inode, fresh)
    return fresh
  }

  private next(label: string): { readonly sequence: number; readonly label: string } {
    this.sequence += 1
    return { sequence: this.sequence, label }
  }

  private now(): number {
    return start + this.sequence
  }
}
