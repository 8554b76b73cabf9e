/**
 * The tree of a session's entries by `parentId`, with a movable leaf. A tree is immutable: `branch`, `resetLeaf` and
 * `append` return a new one.
 *
 * Branches, children and leaf are Pi's. Where Pi loops forever or loses entries there is a diagnostic: of several entries
 * with the same id the last is in the tree; of a cycle of parents the earliest entry becomes a root. An entry without an id
 * is in the tree and has no children.
 */
import * as EntryId from "./EntryId.ts"
import { stringAt } from "./Json.ts"
import { type PiProfile, newest } from "./PiProfile.ts"
import { type SessionDiagnostic } from "./SessionDiagnostic.ts"
import { type SessionEntry } from "./SessionLine.ts"

/** The parent of a root in `parents`. */
const ROOT = -1

export interface Label {
  readonly label: string
  /** Of the label entry, ISO 8601. */
  readonly timestamp: string | undefined
}

/** A node of `toNodes`, in the shape of Pi's `getTree`. */
export interface TreeNode {
  readonly entry: SessionEntry
  readonly children: ReadonlyArray<TreeNode>
  readonly label: string | undefined
  readonly labelTimestamp: string | undefined
}

/** Shared by all trees of one session, which differ in the leaf. */
interface Links {
  readonly entries: ReadonlyArray<SessionEntry>
  readonly indexById: ReadonlyMap<string, number>
  /** Index of the parent of each entry, or `ROOT`. */
  readonly parents: Int32Array
  readonly diagnostics: ReadonlyArray<SessionDiagnostic>
  children: ReadonlyMap<number, ReadonlyArray<number>> | undefined
  labels: ReadonlyMap<string, Label> | undefined
}

export class SessionTree {
  readonly #links: Links
  /** Index of the leaf, or `ROOT`. */
  readonly #leaf: number
  /** The Pis that have no leaf, whatever `#leaf` is. */
  readonly #leafless: ReadonlyArray<PiProfile>

  private constructor(links: Links, leaf: number, leafless: ReadonlyArray<PiProfile> = []) {
    this.#links = links
    this.#leaf = leaf
    this.#leafless = leafless
  }

  /**
   * The tree of entries in file order. The leaf is the last entry, whatever its type, as in Pi. `leafless`: the Pis that
   * have no leaf because of the lines after the last entry. Default: none.
   */
  static make(entries: ReadonlyArray<SessionEntry>, leafless: ReadonlyArray<PiProfile> = []): SessionTree {
    const leaf = entries.at(-1)?.nullId === true || leafless.includes(newest) ? ROOT : entries.length - 1
    return new SessionTree(link(entries), leaf, leafless)
  }

  /** Id of the leaf; null before the first entry and where the leaf has no id. */
  get leafId(): string | null {
    return this.getLeafEntry()?.id ?? null
  }

  /** Duplicate ids, unknown parents and cycles, in file order. */
  get diagnostics(): ReadonlyArray<SessionDiagnostic> {
    return this.#links.diagnostics
  }

  /** All entries of all branches in file order. */
  getEntries(): ReadonlyArray<SessionEntry> {
    return this.#links.entries
  }

  getEntry(id: string): SessionEntry | undefined {
    const index = this.#links.indexById.get(id)
    return index === undefined ? undefined : this.#links.entries[index]
  }

  getLeafEntry(): SessionEntry | undefined {
    return this.#links.entries[this.#leaf]
  }

  /** Entries from the root to `fromId`; empty when there is no such entry. Default: the leaf. */
  getBranch(fromId?: string, profile: PiProfile = newest): ReadonlyArray<SessionEntry> {
    if (fromId !== undefined) return this.branchAt(fromId)
    return this.#leafless.includes(profile) ? [] : this.#branchTo(this.#leaf)
  }

  /** Entries from the root to `leafId`; empty for null. */
  branchAt(leafId: string | null): ReadonlyArray<SessionEntry> {
    return this.#branchTo(leafId === null ? undefined : this.#links.indexById.get(leafId))
  }

  /** Entries from the root to an entry of this tree, with or without an id. */
  branchTo(entry: SessionEntry): ReadonlyArray<SessionEntry> {
    const { entries, indexById } = this.#links
    const index = entry.id === null ? undefined : indexById.get(entry.id)
    return this.#branchTo(index !== undefined && entries[index] === entry ? index : entries.indexOf(entry))
  }

  #branchTo(from: number | undefined): ReadonlyArray<SessionEntry> {
    const { entries, parents } = this.#links
    const branch: Array<SessionEntry> = []
    let index = from
    while (index !== undefined && index !== ROOT) {
      const entry = entries[index]
      if (entry === undefined) break
      branch.push(entry)
      index = parents[index]
    }
    return branch.reverse()
  }

  /** Entries without a parent in the file, in file order. Several are normal: a reset leaf starts a new root. */
  roots(): ReadonlyArray<SessionEntry> {
    return this.#childrenOf(ROOT)
  }

  /** Direct children in file order. */
  children(id: string): ReadonlyArray<SessionEntry> {
    const index = this.#links.indexById.get(id)
    return index === undefined ? [] : this.#childrenOf(index)
  }

  /** Entries without children, in file order: the last entries of all branches. */
  leaves(): ReadonlyArray<SessionEntry> {
    const children = this.#children()
    return this.#links.entries.filter((entry, index) => this.#isLinked(entry, index) && !children.has(index))
  }

  /** The deepest entry of both branches; null when they share none. */
  commonAncestor(a: string | null, b: string | null): SessionEntry | null {
    const left = this.branchAt(a)
    const right = this.branchAt(b)
    let common: SessionEntry | null = null
    for (let i = 0; i < left.length && left[i] === right[i]; i++) common = left[i] ?? null
    return common
  }

  /**
   * The path from one leaf to another: `up` lists the entries from `from` to below the common ancestor, `down` those from
   * below the common ancestor to `to`.
   */
  pathBetween(
    from: string | null,
    to: string | null
  ): {
    readonly commonAncestor: SessionEntry | null
    readonly up: ReadonlyArray<SessionEntry>
    readonly down: ReadonlyArray<SessionEntry>
  } {
    const left = this.branchAt(from)
    const right = this.branchAt(to)
    let shared = 0
    while (shared < left.length && left[shared] === right[shared]) shared++
    return {
      commonAncestor: left[shared - 1] ?? null,
      up: left.slice(shared).reverse(),
      down: right.slice(shared)
    }
  }

  /** Moves the leaf to an entry; undefined when there is no such entry. */
  branch(id: string): SessionTree | undefined {
    const index = this.#links.indexById.get(id)
    return index === undefined ? undefined : new SessionTree(this.#links, index)
  }

  /** Moves the leaf before the first entry, so that the next one becomes a root. */
  resetLeaf(): SessionTree {
    return new SessionTree(this.#links, ROOT)
  }

  /** Adds entries at the end of the file; the last one becomes the leaf. */
  append(entries: ReadonlyArray<SessionEntry>): SessionTree {
    return entries.length === 0 ? this : SessionTree.make(this.#links.entries.concat(entries))
  }

  /** Labels by the id of the labelled entry. They do not depend on the branch; the last in file order counts. */
  labels(): ReadonlyMap<string, Label> {
    if (this.#links.labels !== undefined) return this.#links.labels
    const labels = new Map<string, Label>()
    for (const entry of this.#links.entries) {
      if (entry.type !== "label") continue
      const payload = entry.decode()
      const targetId = EntryId.read(payload["targetId"])
      if (targetId === null) continue
      const label = stringAt(payload, "label")
      if (label === undefined || label === "") labels.delete(targetId)
      else labels.set(targetId, { label, timestamp: entry.timestamp })
    }
    this.#links.labels = labels
    return labels
  }

  label(id: string): string | undefined {
    return this.labels().get(id)?.label
  }

  /** The session's name: of the last `session_info` entry in the file; undefined when it is empty. */
  name(): string | undefined {
    for (let i = this.#links.entries.length - 1; i >= 0; i--) {
      const entry = this.#links.entries[i]
      if (entry?.type !== "session_info") continue
      const name = stringAt(entry.decode(), "name")?.trim()
      return name === "" ? undefined : name
    }
    return undefined
  }

  /** Nested nodes as of Pi's `getTree`: children sorted by timestamp, oldest first. */
  toNodes(): ReadonlyArray<TreeNode> {
    const children = this.#children()
    const { entries } = this.#links
    const labels = this.labels()
    const nodes = new Map<number, TreeNode & { children: Array<TreeNode> }>()
    const node = (index: number): (TreeNode & { children: Array<TreeNode> }) | undefined => {
      const entry = entries[index]
      if (entry === undefined) return undefined
      const label = entry.id === null ? undefined : labels.get(entry.id)
      const made = { entry, children: [], label: label?.label, labelTimestamp: label?.timestamp }
      nodes.set(index, made)
      return made
    }
    const roots = (children.get(ROOT) ?? []).flatMap((index) => node(index) ?? [])
    // A queue, not recursion: trees can be deep.
    const queue = [...(children.get(ROOT) ?? [])]
    for (let i = 0; i < queue.length; i++) {
      const index = queue[i]
      const parent = index === undefined ? undefined : nodes.get(index)
      if (index === undefined || parent === undefined) continue
      for (const child of children.get(index) ?? []) {
        const made = node(child)
        if (made !== undefined) parent.children.push(made)
        queue.push(child)
      }
      if (parent.children.length > 1) {
        const time = new Map(parent.children.map((child) => [child, Date.parse(child.entry.timestamp ?? "")]))
        parent.children.sort((a, b) => (time.get(a) ?? NaN) - (time.get(b) ?? NaN))
      }
    }
    return roots
  }

  #childrenOf(index: number): ReadonlyArray<SessionEntry> {
    return (this.#children().get(index) ?? []).flatMap((child) => this.#links.entries[child] ?? [])
  }

  /** Whether an entry is in the tree: not when a later entry has the same id. */
  has(entry: SessionEntry): boolean {
    return entry.id === null || this.getEntry(entry.id) === entry
  }

  #isLinked(entry: SessionEntry, index: number): boolean {
    return entry.id === null || this.#links.indexById.get(entry.id) === index
  }

  #children(): ReadonlyMap<number, ReadonlyArray<number>> {
    if (this.#links.children !== undefined) return this.#links.children
    const { entries, parents } = this.#links
    const children = new Map<number, Array<number>>()
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index]
      if (entry === undefined || !this.#isLinked(entry, index)) continue
      const parent = parents[index] ?? ROOT
      const siblings = children.get(parent)
      if (siblings === undefined) children.set(parent, [index])
      else siblings.push(index)
    }
    this.#links.children = children
    return children
  }
}

const link = (entries: ReadonlyArray<SessionEntry>): Links => {
  const diagnostics: Array<SessionDiagnostic> = []
  const report = (code: SessionDiagnostic["code"], entry: SessionEntry, message: string): void => {
    diagnostics.push({
      code,
      line: entry.line,
      byteOffset: entry.byteOffset,
      ...(entry.id === null ? {} : { entryId: entry.id }),
      message
    })
  }

  const indexById = new Map<string, number>()
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index]
    if (entry === undefined || entry.id === null) continue
    const earlier = indexById.get(entry.id)
    if (earlier !== undefined) {
      const line = entries[earlier]?.line ?? 0
      report("duplicate-id", entry, `id ${JSON.stringify(entry.id)} was used on line ${line}; this one is in the tree`)
    }
    indexById.set(entry.id, index)
  }

  const parents = new Int32Array(entries.length).fill(ROOT)
  /** Whether a parent comes after its child: without one there is no cycle. */
  let forward = false
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index]
    if (entry === undefined || entry.parentId === null || entry.parentId === "") continue
    const parent = indexById.get(entry.parentId)
    if (parent === undefined) {
      report(
        "unknown-parent",
        entry,
        `parentId ${JSON.stringify(entry.parentId)} names no entry; history before this one is cut off`
      )
      continue
    }
    parents[index] = parent
    if (parent >= index) forward = true
  }
  if (forward) cutCycles(entries, parents, report)
  diagnostics.sort((a, b) => a.byteOffset - b.byteOffset)
  return { entries, indexById, parents, diagnostics, children: undefined, labels: undefined }
}

const cutCycles = (
  entries: ReadonlyArray<SessionEntry>,
  parents: Int32Array,
  report: (code: SessionDiagnostic["code"], entry: SessionEntry, message: string) => void
): void => {
  /** For each entry the number of the walk that visited it; 0: none. */
  const walks = new Int32Array(entries.length)
  for (let start = 0; start < entries.length; start++) {
    let index = start
    while (index !== ROOT && walks[index] === 0) {
      walks[index] = start + 1
      index = parents[index] ?? ROOT
    }
    if (index === ROOT || walks[index] !== start + 1) continue
    // `index` is on a cycle: its earliest entry becomes a root.
    let earliest = index
    for (let i = parents[index] ?? ROOT; i !== index && i !== ROOT; i = parents[i] ?? ROOT) {
      if (i < earliest) earliest = i
    }
    parents[earliest] = ROOT
    const entry = entries[earliest]
    if (entry !== undefined) {
      report("cycle", entry, `the parents of this entry lead back to it; it is taken for a root (Pi would not end)`)
    }
  }
}
