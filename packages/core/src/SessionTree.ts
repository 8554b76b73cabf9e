/**
 * The tree that a session's entries form through `parentId`, with a movable leaf.
 *
 * A tree is a value: navigation (`branch`, `resetLeaf`, `append`) gives a new tree and leaves the old one as it was.
 * Branches, children and leaf are Pi's. Where Pi hangs or loses track, the result is defined and a diagnostic says so:
 * the last of several entries with one id is in the tree; a circle of parents is cut at its earliest entry, which becomes
 * a root. An entry without an id is in the tree too, and nothing can follow it.
 */
import * as EntryId from "./EntryId.ts"
import { stringAt } from "./Json.ts"
import { type PiProfile, newest } from "./PiProfile.ts"
import { type SessionDiagnostic } from "./SessionDiagnostic.ts"
import { type SessionEntry } from "./SessionLine.ts"

/** In `parents`: a root. */
const ROOT = -1

export interface Label {
  readonly label: string
  /** ISO 8601, of the label entry. */
  readonly timestamp: string | undefined
}

/** A node of `toNodes`, in the shape of Pi's `getTree`. */
export interface TreeNode {
  readonly entry: SessionEntry
  readonly children: ReadonlyArray<TreeNode>
  readonly label: string | undefined
  readonly labelTimestamp: string | undefined
}

/** What both trees of one session share whatever their leaf. */
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
  /** The Pis that see no leaf, whatever `#leaf` is. */
  readonly #leafless: ReadonlyArray<PiProfile>

  private constructor(links: Links, leaf: number, leafless: ReadonlyArray<PiProfile> = []) {
    this.#links = links
    this.#leaf = leaf
    this.#leafless = leafless
  }

  /**
   * Links entries given in file order. The leaf is the last entry of the file, whatever its type, as in Pi. `leafless`
   * are the Pis that what follows the last entry in the file leaves without one.
   */
  static make(entries: ReadonlyArray<SessionEntry>, leafless: ReadonlyArray<PiProfile> = []): SessionTree {
    const leaf = entries.at(-1)?.nullId === true || leafless.includes(newest) ? ROOT : entries.length - 1
    return new SessionTree(link(entries), leaf, leafless)
  }

  /** Id of the entry that the next one will follow; null before the first, and where the leaf has no id. */
  get leafId(): string | null {
    return this.getLeafEntry()?.id ?? null
  }

  /** Duplicate ids, unknown parents and cycles, in file order. */
  get diagnostics(): ReadonlyArray<SessionDiagnostic> {
    return this.#links.diagnostics
  }

  /** All entries in file order, those of other branches too. */
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

  /** Entries from the root to `fromId` (default: the leaf); empty when there is no such entry. */
  getBranch(fromId?: string, profile: PiProfile = newest): ReadonlyArray<SessionEntry> {
    if (fromId !== undefined) return this.branchAt(fromId)
    return this.#leafless.includes(profile) ? [] : this.#branchTo(this.#leaf)
  }

  /** Entries from the root to `leafId`; empty for null, as before the first entry (seed 001). */
  branchAt(leafId: string | null): ReadonlyArray<SessionEntry> {
    return this.#branchTo(leafId === null ? undefined : this.#links.indexById.get(leafId))
  }

  /** Entries from the root to an entry of this tree, which need not have an id. */
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

  /** Entries without a parent in the file, in file order. Several are normal: a reset leaf starts a new one. */
  roots(): ReadonlyArray<SessionEntry> {
    return this.#childrenOf(ROOT)
  }

  /** Direct children in file order. */
  children(id: string): ReadonlyArray<SessionEntry> {
    const index = this.#links.indexById.get(id)
    return index === undefined ? [] : this.#childrenOf(index)
  }

  /** Entries without children, in file order: the ends of all branches. */
  leaves(): ReadonlyArray<SessionEntry> {
    const children = this.#children()
    return this.#links.entries.filter((entry, index) => this.#isLinked(entry, index) && !children.has(index))
  }

  /** The deepest entry that both branches hold; null when they share none. */
  commonAncestor(a: string | null, b: string | null): SessionEntry | null {
    const left = this.branchAt(a)
    const right = this.branchAt(b)
    let common: SessionEntry | null = null
    for (let i = 0; i < left.length && left[i] === right[i]; i++) common = left[i] ?? null
    return common
  }

  /**
   * The way from one leaf to another: `up` lists the entries left behind, from `from` towards the common ancestor;
   * `down` those that become current, from below the ancestor to `to`.
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

  /** Labels by the entry they stand on. They belong to the file, not to a branch; the last in file order counts. */
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

  /** The session's name: that of the last session_info entry in the file, unless it is empty. */
  name(): string | undefined {
    for (let i = this.#links.entries.length - 1; i >= 0; i--) {
      const entry = this.#links.entries[i]
      if (entry?.type !== "session_info") continue
      const name = stringAt(entry.decode(), "name")?.trim()
      return name === "" ? undefined : name
    }
    return undefined
  }

  /** Nested nodes as Pi's `getTree` gives them: children sorted by timestamp, oldest first. */
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
    // Children come in file order, so a plain loop over a growing list needs no recursion on deep trees.
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

  /** Whether an entry is in the tree: one that a later one with the same id replaced is not. */
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
  /** An append-only writer names only earlier entries; a parent further down is how a circle can arise. */
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
  /** 0 = not seen, n = seen on walk n. */
  const walks = new Int32Array(entries.length)
  for (let start = 0; start < entries.length; start++) {
    let index = start
    while (index !== ROOT && walks[index] === 0) {
      walks[index] = start + 1
      index = parents[index] ?? ROOT
    }
    if (index === ROOT || walks[index] !== start + 1) continue
    // `index` is on a circle: find its earliest entry and make that one a root.
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
